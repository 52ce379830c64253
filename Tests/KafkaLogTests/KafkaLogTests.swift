// The log on a real broker: what readers, writers and workers may rely on.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A log on Kafka")
    struct LogTests {
        @Test("checks its topics and names what differs, with both values", .needsKafka)
        func topics() async throws {
            try await withBroker {
                let settings = try KafkaSettings.fresh()
                let topics = KafkaTopics(settings, partitions: 4, replicas: 1)
                let missing = try fault { try topics.check() }
                #expect(missing.remedy == .stop)
                #expect(missing.reason.contains("\(settings.prefix)session: the topic is missing"))
                try topics.create()
                try topics.create()
                try topics.check()
                #expect(try topics.describe().count == Topic.all.count)
                #expect(try topics.describe()[.throttle]?.settings["cleanup.policy"] == "compact")
                let changes: [(Topic, String, String, String)] = [
                    (.session, "message.timestamp.type", "CreateTime", "LogAppendTime"),
                    (.throttle, "cleanup.policy", "delete", "compact"),
                    (.crash, "retention.ms", "3600000", "at least 86400000"),
                ]
                let administrator = KafkaAdministrator(settings)
                for (topic, name, value, _) in changes {
                    try administrator.alter(topic, partitions: 4, [name: value])
                }
                // A broker answers an alteration before it has taken it over itself.
                _ = try eventually("what has been altered") { () -> Bool? in
                    let now = try topics.describe()
                    let isSeen = changes.allSatisfy { now[$0.0]?.settings[$0.1] == $0.2 }
                    return isSeen ? true : nil
                }
                let wrong = try fault { try topics.check() }
                #expect(wrong.remedy == .stop)
                for (topic, name, value, wanted) in changes {
                    #expect(
                        wrong.reason.contains(
                            "\(settings.prefix)\(topic.name): \(name) is \(value), "
                                + "must be \(wanted)"))
                }
                let other = try fault {
                    try KafkaTopics(settings, partitions: 5, replicas: 1).check()
                }
                #expect(
                    other.reason.contains(
                        "\(settings.prefix)session: the number of partitions is 4, must be 5"))
            }
        }

        @Test("keeps the room it takes for what waits within its budget", .needsKafka)
        func memory() async throws {
            await KafkaFixture.access.enter(.beside)
            let bootstrap = try KafkaFixture.shared.get().bootstrap
            let prefix = freshPrefix()
            // In a process of its own, where nobody else takes memory.
            await #expect(processExitsWith: .success) {
                [bootstrap = bootstrap as String, prefix = prefix as String] in
                var settings = KafkaSettings(bootstrap: bootstrap)
                settings.prefix = prefix
                try KafkaTopics(settings, partitions: 4, replicas: 1).create()
                let log = try KafkaLog(settings)
                // 300 MB that compress to next to nothing.
                let value = String(repeating: "v", count: 1_000)
                for _ in 0..<60 {
                    try log.append((0..<5_000).map { .init(.session, $0 % 4, value) })
                }
                let before = try residentKilobytes()
                let places = log.places(of: .session)
                let reader = try log.makeReader(
                    from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
                let batch = LogBatch(bytesMax: 1 << 20)
                var (count, most) = (0, 0)
                _ = try eventually("all records") { () -> Bool? in
                    _ = try reader.poll(into: batch, waitMilliseconds: 20)
                    count += batch.records.count
                    most = max(most, try residentKilobytes())
                    return count == 300_000 ? true : nil
                }
                batch.reset()
                reader.close()
                log.close()
                print("\(most - before) kB for what waits")
                exit(most - before < 192 << 10 ? EXIT_SUCCESS : EXIT_FAILURE)
            }
            await KafkaFixture.access.leave()
        }
    }
}

/// What this process holds in memory.
func residentKilobytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(Int(line.split { !$0.isNumber }[0]))
}
