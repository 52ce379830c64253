// The topics by kind: a stream is deleted by age, a table keeps the last record of each key.

/// A topic of the log. Its name is without the prefix, which belongs to the log.
package struct Topic: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Records are deleted once they are older than the retention; nil: kept for ever.
        case stream(retentionMilliseconds: Int64?)
        /// Only the last record of each key is kept; one without a value deletes the key.
        case table
    }

    package let name: String
    package let kind: Kind
    /// Whether it has the log's number of partitions; otherwise it has one.
    package let isPartitioned: Bool

    private init(_ name: String, _ kind: Kind, isPartitioned: Bool = true) {
        self.name = name
        self.kind = kind
        self.isPartitioned = isPartitioned
    }

    private static func hours(_ count: Int64) -> Kind {
        .stream(retentionMilliseconds: count * 3_600_000)
    }

    package static let session = Topic("session", hours(24))
    package static let crash = Topic("crash", hours(24))
    package static let softError = Topic("soft_error", hours(24))
    package static let adEvent = Topic("ad_event", hours(24))
    /// Policies, assignments, overrides and caps: an audit trail, kept for ever.
    package static let control = Topic(
        "control", .stream(retentionMilliseconds: nil), isPartitioned: false)
    /// The current state of each app.
    package static let throttle = Topic("throttle", .table)
    /// What a person should know.
    package static let notice = Topic("notice", hours(30 * 24), isPartitioned: false)
    /// One record an epoch and partition.
    package static let epoch = Topic("epoch", hours(48))
    /// Images of the evaluator's state, in chunks.
    package static let snapshot = Topic("snapshot", hours(48))
    /// Records that could not be used.
    package static let dead = Topic("dead", hours(7 * 24), isPartitioned: false)

    /// What apps report, in the order in which records of equal append time are taken.
    package static let inputs: [Topic] = [.session, .crash, .softError, .adEvent]

    package static let all: [Topic] =
        inputs + [.control, .throttle, .notice, .epoch, .snapshot, .dead]
}

/// One partition of a topic.
package struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var topic: Topic
    package var partition: Int

    package init(_ topic: Topic, _ partition: Int) {
        self.topic = topic
        self.partition = partition
    }

    package var description: String { "\(topic.name)[\(partition)]" }

    package static func < (one: TopicPartition, other: TopicPartition) -> Bool {
        (one.topic.name, one.partition) < (other.topic.name, other.partition)
    }
}
