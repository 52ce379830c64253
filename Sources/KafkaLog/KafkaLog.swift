// The log of fleets: Apache Kafka through librdkafka.

package import EventLog

/// A log in a Kafka cluster whose topics exist and fit together.
package final class KafkaLog: EventLog {
    package let partitions: Int
    package let place: String

    private let settings: KafkaSettings
    private let inquiry: ClusterInquiry
    private let appender: RecordAppender
    private let interruption = Interruption()
    private let leftovers = LeftoverStore()

    /// For one question while the log is in use.
    static let questionMilliseconds = 5_000

    /// Waits for a broker, then checks that the topics are there and fit together.
    package init(_ settings: KafkaSettings) throws(LogFault) {
        try settings.validate()
        self.settings = settings
        place = settings.place
        inquiry = try ClusterInquiry(settings)
        _ = try inquiry.waitForBroker(timeoutMilliseconds: settings.startTimeoutMilliseconds)
        let found = try inquiry.describe(
            Topic.all, timeoutMilliseconds: KafkaLog.questionMilliseconds)
        partitions = try KafkaLog.partitionCount(found, settings)
        appender = RecordAppender(settings)
    }

    package func append(_ records: [OutgoingRecord]) throws(LogFault) {
        try appender.append(records)
    }

    package func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        try inquiry.bounds(of: place, timeoutMilliseconds: KafkaLog.questionMilliseconds)
    }

    package func makeReader(
        from positions: [TopicPartition: Int64]
    ) throws(LogFault) -> any LogReader {
        try KafkaReader(settings, inquiry, interruption, from: positions)
    }

    package func makeWorker(lane: Int) throws(LogFault) -> any LogWorker {
        try KafkaWorker(
            settings, inquiry, interruption, partitions: partitions, lane: lane, leftovers)
    }

    package func makeExclusiveAppender(
        name: String
    ) throws(LogFault) -> any ExclusiveAppender {
        try KafkaAppender(settings, name: name)
    }

    /// Kafka looks after itself.
    package func maintain() -> Bool { false }

    package func interrupt() { interruption.raise() }

    package func close() {
        appender.close()
        inquiry.close()
    }

    /// P, which all partitioned topics must agree on.
    private static func partitionCount(
        _ found: [Topic: ClusterInquiry.TopicDescription], _ settings: KafkaSettings
    ) throws(LogFault) -> Int {
        func fault(_ topic: Topic, _ reason: String, hint: String) -> LogFault {
            LogFault(
                "open", at: settings.place(of: topic), reason: reason, hint: hint, remedy: .stop)
        }
        for topic in Topic.all where found[topic] == nil {
            throw fault(
                topic, "the topic does not exist", hint: "adbrake topics create makes it")
        }
        let first = Topic.inputs[0]
        let count = found[first]?.partitions ?? 0
        for topic in Topic.all {
            let expected = topic.isPartitioned ? count : 1
            let actual = found[topic]?.partitions ?? 0
            guard actual == expected, actual > 0 else {
                throw fault(
                    topic,
                    "it has \(actual) partitions, but "
                        + (topic.isPartitioned
                            ? "\(settings.name(of: first)) has \(expected)" : "must have 1"),
                    hint: "all topics with partitions need the same number, for life")
            }
        }
        return count
    }
}
