// What an operator can choose about Kafka: where it is, who we are in it, and librdkafka's own
// properties from a file. What our guarantees rest on cannot be chosen.

import EventLog
import Glibc

/// How to reach a Kafka cluster and which part of it is ours.
package struct KafkaSettings: Sendable {
    package static let defaultPrefix = "adbrake-"
    /// Kafka's own limit of a client's message, with some room for the topic's name.
    static let prefixLengthMax = 128

    /// `host:port,host:port`.
    package var bootstrap: String
    /// What the names of our topics, groups and transactions begin with.
    package var prefix = KafkaSettings.defaultPrefix
    /// Tells the processes of a fleet apart; the same one again after a restart of the process.
    package var instance = KafkaSettings.hostName
    /// librdkafka's properties, as in the file given with `--kafka-config`.
    package var properties: [String: String] = [:]
    /// How long a start waits for an unreachable broker.
    package var startTimeoutMilliseconds = 60_000
    /// How long an append may take before it is given back to the caller.
    package var appendTimeoutMilliseconds = 10_000
    /// How long a partition may stand still while records wait before it is fetched anew.
    package var stallTimeoutMilliseconds = 15_000
    /// Off for mock brokers alone, whose transaction markers carry no checksum.
    package var checksRecords = true
    /// Where the client's log goes; nothing of it holds a secret.
    package var log: @Sendable (KafkaLogLine) -> Void = { _ in }

    package init(bootstrap: String) {
        self.bootstrap = bootstrap
    }

    package static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// For people: `kafka:host:port`.
    var place: String { "kafka:\(bootstrap)" }

    /// Refuses what cannot work before anything is connected.
    func validate() throws(LogFault) {
        guard !bootstrap.isEmpty else {
            throw refused("no broker is named", hint: "give --log kafka:HOST:PORT")
        }
        let allowed = { (character: Character) in
            character.isASCII
                && (character.isLetter || character.isNumber || "._-".contains(character))
        }
        guard prefix.count <= KafkaSettings.prefixLengthMax, prefix.allSatisfy(allowed) else {
            throw refused("the prefix \"\(prefix)\" does not suit topic names")
        }
        guard !instance.isEmpty, instance.count <= KafkaSettings.prefixLengthMax,
            instance.allSatisfy(allowed)
        else {
            throw refused("the instance \"\(instance)\" does not suit names in Kafka")
        }
        for name in properties.keys.sorted() where KafkaProperties.ours.contains(name) {
            throw refused(
                "the property \(name) is not for choice: exactly-once rests on it",
                hint: "remove it from the Kafka configuration")
        }
        try refuseBrokenSCRAM()
    }

    /// librdkafka before 2.6.1 repeats the nonce of SCRAM's first message, which Kafka 4 refuses
    /// as invalid credentials: an operator would look for a wrong password for hours.
    private func refuseBrokenSCRAM() throws(LogFault) {
        let mechanism = properties["sasl.mechanism"] ?? properties["sasl.mechanisms"] ?? ""
        guard mechanism.uppercased().hasPrefix("SCRAM") else { return }
        guard RDKafkaVersion.current < RDKafkaVersion.soundSCRAM else { return }
        throw refused(
            "\(mechanism) does not work with librdkafka \(RDKafkaVersion.current): its SCRAM "
                + "repeats a nonce, and Kafka 4 answers \"invalid credentials\"",
            hint: "install librdkafka 2.6.1 or later, or use mutual TLS")
    }

    private func refused(_ reason: String, hint: String? = nil) -> LogFault {
        LogFault("configure Kafka", at: place, reason: reason, hint: hint, remedy: .stop)
    }
}

/// A line of the client's log.
package struct KafkaLogLine: Sendable {
    /// As syslog has it: 3 error, 4 warning, 5 notice, 6 information, 7 debugging.
    package var level: Int
    package var facility: String
    package var message: String
}
