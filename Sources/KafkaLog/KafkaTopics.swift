// What our topics must be like, and the making and checking of them.

import CRdKafka
package import EventLog
import Glibc

/// The topics of a log in Kafka.
package struct KafkaTopics {
    /// How a topic is, or has to be.
    package struct Description: Equatable, Sendable {
        package var partitions: Int
        package var replicas: Int
        /// Kafka's own names and values.
        package var settings: [String: String]
    }

    /// A difference between what is and what has to be.
    package struct Difference: Sendable, CustomStringConvertible {
        package var topic: String
        package var setting: String
        package var actual: String
        package var expected: String

        package var description: String {
            "\(topic): \(setting) is \(actual), must be \(expected)"
        }
    }

    package static let defaultPartitions = 16
    /// The largest record is an array of events or a chunk of a snapshot, with some room.
    package static let messageBytesMin = 1_000_000
    static let questionMilliseconds = 10_000
    static let creationMilliseconds = 30_000
    /// Between two looks at topics that have just been made.
    static let creationPauseMicroseconds: UInt32 = 50_000

    private let settings: KafkaSettings
    private let partitions: Int
    private let replicas: Int

    /// `replicas`: 3 in a cluster, 1 with a single broker.
    package init(
        _ settings: KafkaSettings, partitions: Int = KafkaTopics.defaultPartitions, replicas: Int
    ) {
        precondition(partitions > 0 && replicas > 0, "topics have partitions and replicas")
        self.settings = settings
        self.partitions = partitions
        self.replicas = replicas
    }

    /// Creates what is missing, then checks everything.
    package func create() throws(LogFault) {
        let inquiry = try open()
        defer { inquiry.close() }
        let found = try inquiry.describe(
            Topic.all, timeoutMilliseconds: KafkaTopics.questionMilliseconds)
        let missing = Topic.all.filter { found[$0] == nil }
        if !missing.isEmpty { try create(missing, inquiry.client) }
        try check(inquiry, afterCreating: missing)
    }

    /// Refuses when anything differs, naming topics and both values.
    package func check() throws(LogFault) {
        let inquiry = try open()
        defer { inquiry.close() }
        try check(inquiry, afterCreating: [])
    }

    /// How the topics are; absent are those that do not exist.
    package func describe() throws(LogFault) -> [Topic: Description] {
        let inquiry = try open()
        defer { inquiry.close() }
        return try describe(inquiry)
    }

    /// How a topic has to be.
    package func expected(_ topic: Topic) -> Description {
        var wanted = [
            "message.timestamp.type": "LogAppendTime",
            "min.insync.replicas": "\(max(1, replicas - 1))",
            "max.message.bytes": "\(KafkaTopics.messageBytesMin)",
        ]
        switch topic.kind {
        case .stream(let retention):
            wanted["cleanup.policy"] = "delete"
            wanted["retention.ms"] = "\(retention ?? -1)"
        case .table:
            wanted["cleanup.policy"] = "compact"
        }
        return Description(
            partitions: topic.isPartitioned ? partitions : 1, replicas: replicas,
            settings: wanted)
    }

    private func open() throws(LogFault) -> ClusterInquiry {
        try settings.validate()
        let inquiry = try ClusterInquiry(settings)
        _ = try inquiry.waitForBroker(timeoutMilliseconds: settings.startTimeoutMilliseconds)
        return inquiry
    }

    private func check(
        _ inquiry: ClusterInquiry, afterCreating created: [Topic]
    ) throws(LogFault) {
        let deadline = LogClock.steady.now() + Int64(KafkaTopics.creationMilliseconds)
        var found: [Topic: Description] = [:]
        // A new topic takes a moment until every broker knows it: one may list it already, while
        // another one has not heard of it when it is asked for its settings.
        repeat {
            do throws(LogFault) {
                found = try describe(inquiry)
            } catch {
                let mayPass = !created.isEmpty && error.remedy != .refused
                guard mayPass, LogClock.steady.now() < deadline else { throw error }
                usleep(KafkaTopics.creationPauseMicroseconds)
            }
        } while !created.allSatisfy({ found[$0] != nil }) && LogClock.steady.now() < deadline
        let all = Topic.all.flatMap { differences($0, found[$0]) }
        guard all.isEmpty else {
            throw LogFault(
                "check topics", at: settings.place,
                reason: all.map(\.description).joined(separator: "; "),
                hint: "settings can be altered with kafka-configs.sh; a partition count cannot: "
                    + "use another prefix",
                remedy: .stop)
        }
    }

    private func differences(_ topic: Topic, _ found: Description?) -> [Difference] {
        let name = settings.name(of: topic)
        guard let found else {
            return [
                Difference(
                    topic: name, setting: "the topic", actual: "missing", expected: "there")
            ]
        }
        let expected = expected(topic)
        var differences: [Difference] = []
        func compare(_ setting: String, _ actual: String, _ wanted: String, _ fits: Bool) {
            guard !fits else { return }
            differences.append(
                Difference(topic: name, setting: setting, actual: actual, expected: wanted))
        }
        compare(
            "the number of partitions", "\(found.partitions)", "\(expected.partitions)",
            found.partitions == expected.partitions)
        compare(
            "the number of replicas", "\(found.replicas)", "\(expected.replicas)",
            found.replicas == expected.replicas)
        for (setting, wanted) in expected.settings.sorted(by: { $0.key < $1.key }) {
            let actual = found.settings[setting] ?? "unknown"
            let isAtLeast = setting == "retention.ms" || setting == "max.message.bytes"
            compare(
                setting, actual, (isAtLeast ? "at least " : "") + wanted,
                isAtLeast ? KafkaTopics.is(actual, atLeast: wanted) : actual == wanted)
        }
        return differences
    }

    /// -1 is for ever.
    private static func `is`(_ actual: String, atLeast wanted: String) -> Bool {
        guard let actual = Int64(actual), let wanted = Int64(wanted) else { return false }
        return actual == -1 || (wanted != -1 && actual >= wanted)
    }

    private func describe(_ inquiry: ClusterInquiry) throws(LogFault) -> [Topic: Description] {
        let found = try inquiry.describe(
            Topic.all, timeoutMilliseconds: KafkaTopics.questionMilliseconds)
        let names = found.keys.map { settings.name(of: $0) }.sorted()
        let entries: [String: [String: String]]
        do {
            entries = try TopicAdministration.settings(
                RD_KAFKA_RESOURCE_TOPIC, names, asking: inquiry.client,
                timeoutMilliseconds: KafkaTopics.questionMilliseconds)
        } catch {
            throw error.error.fault(
                "describe settings", at: "\(settings.place) \(error.topic ?? "")",
                trouble: inquiry.client.context.lastTrouble)
        }
        var descriptions: [Topic: Description] = [:]
        for (topic, entry) in found {
            descriptions[topic] = Description(
                partitions: entry.partitions, replicas: entry.replicas,
                settings: entries[settings.name(of: topic), default: [:]])
        }
        return descriptions
    }

    /// A setting of the cluster's brokers; nil if it is not ours to see.
    static func brokerSetting(_ name: String, asking client: RDKafkaClient) -> String? {
        var raw: UnsafePointer<rd_kafka_metadata>? = nil
        guard
            unsafe rd_kafka_metadata(client.pointer, 0, nil, &raw, Int32(questionMilliseconds))
                == RD_KAFKA_RESP_ERR_NO_ERROR, let raw = unsafe raw
        else { return nil }
        defer { unsafe rd_kafka_metadata_destroy(raw) }
        guard unsafe raw.pointee.broker_cnt > 0 else { return nil }
        let broker = unsafe String(raw.pointee.brokers[0].id)
        let found = try? TopicAdministration.settings(
            RD_KAFKA_RESOURCE_BROKER, [broker], asking: client,
            timeoutMilliseconds: questionMilliseconds)
        return found?[broker]?[name]
    }

    private func create(_ topics: [Topic], _ client: RDKafkaClient) throws(LogFault) {
        let wanted = topics.map { topic in
            let expected = expected(topic)
            return TopicAdministration.NewTopic(
                name: settings.name(of: topic), partitions: expected.partitions,
                replicas: expected.replicas, settings: expected.settings)
        }
        do {
            try TopicAdministration.create(
                wanted, asking: client, timeoutMilliseconds: KafkaTopics.creationMilliseconds)
        } catch {
            throw error.error.fault(
                "create topic", at: "\(settings.place) \(error.topic ?? "")",
                trouble: client.context.lastTrouble)
        }
    }
}
