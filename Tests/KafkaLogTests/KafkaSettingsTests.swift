// Settings: what is refused before anything is connected, and what errors mean.
import CRdKafka
import EventLog
import LogTestSupport
import Testing

@testable import KafkaLog

@Suite("Settings of Kafka")
struct KafkaSettingsTests {
    func settings(_ properties: [String: String]) -> KafkaSettings {
        var settings = KafkaSettings(bootstrap: "127.0.0.1:1")
        settings.properties = properties
        return settings
    }

    @Test("are read from a file of names and values")
    func file() throws {
        let text = """
            # how to reach the brokers
            security.protocol = SSL

              ssl.ca.location=/etc/ca.pem
            ssl.key.password=a=b#c\r
            """
        #expect(
            try KafkaProperties.parse(text, place: "kafka.conf") == [
                "security.protocol": "SSL", "ssl.ca.location": "/etc/ca.pem",
                "ssl.key.password": "a=b#c",
            ])
    }

    @Test(
        "name the line that is wrong, but not what it holds",
        arguments: ["a=1\nsecret", "a=1\n=secret", "a=1\na=secret"])
    func wrongLine(text: String) throws {
        let wrong = try fault { _ = try KafkaProperties.parse(text, place: "kafka.conf") }
        #expect(wrong.remedy == .stop)
        #expect(wrong.place == "kafka.conf:2")
        #expect(!wrong.description.contains("secret"))
    }

    @Test("cannot change what exactly-once rests on", arguments: KafkaProperties.ours.sorted())
    func ours(name: String) throws {
        let refused = try fault { try settings([name: "1"]).validate() }
        #expect(refused.remedy == .stop)
        #expect(refused.reason.contains(name))
    }

    @Test("are refused with librdkafka's reason when it does not know them")
    func unknown() throws {
        let refused = try fault { _ = try KafkaLog(settings(["no.such.name": "1"])) }
        #expect(refused.remedy == .stop)
        #expect(refused.reason.contains("no.such.name"))
    }

    @Test("never show a secret that is refused")
    func secrets() throws {
        let refused = try fault {
            _ = try KafkaLog(settings(["ssl.key.pem": "hunter2", "security.protocol": "SSL"]))
        }
        #expect(!refused.description.contains("hunter2"))
    }

    @Test(
        "are refused when SCRAM would fail with this library",
        .enabled(if: RDKafkaVersion.current < .soundSCRAM))
    func scram() throws {
        for name in ["sasl.mechanism", "sasl.mechanisms"] {
            let refused = try fault { try settings([name: "SCRAM-SHA-512"]).validate() }
            #expect(refused.remedy == .stop)
            #expect(refused.reason.contains(RDKafkaVersion.current.description))
            #expect(refused.hint?.contains("2.6.1") == true)
        }
        try settings(["sasl.mechanism": "PLAIN"]).validate()
    }

    @Test("are refused when names would not suit Kafka")
    func names() throws {
        for prefix in ["a b-", "ä-", String(repeating: "a", count: 200)] {
            var wrong = settings([:])
            wrong.prefix = prefix
            #expect(try fault { try wrong.validate() }.remedy == .stop)
        }
        var wrong = settings([:])
        wrong.instance = ""
        #expect(try fault { try wrong.validate() }.remedy == .stop)
        try settings([:]).validate()
    }

    @Test("let errors say whether to retry, stop, or leave")
    func remedies() {
        let remedies: [(rd_kafka_resp_err_t, LogFault.Remedy)] = [
            (RD_KAFKA_RESP_ERR__TRANSPORT, .retry),
            (RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, .retry),
            (RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, .retry),
            (RD_KAFKA_RESP_ERR__FENCED, .retry),
            (RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, .rejoin),
            (RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, .fenced),
            (RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, .rejoin),
            (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, .refused),
            (RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, .stop),
            (RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, .stop),
        ]
        for (code, remedy) in remedies {
            #expect(RDKafkaError(code: code).fault("do", at: "kafka").remedy == remedy)
        }
    }

    @Test("let a commit's note be told from what others wrote there")
    func notes() {
        let note = CommitNote(generation: 7, attempt: 12)
        #expect(CommitNote(note.text) == note)
        for other in [nil, "", "NO_METADATA", "adbrake/1 7", "adbrake/2 7 12", "adbrake/1 x 12"] {
            #expect(CommitNote(other) == nil)
        }
    }
}
