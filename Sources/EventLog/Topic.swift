// The topics by kind: a stream is deleted by age, a table keeps the last record of each key.

package import BrakeModel

/// A topic of the log. A number, so that a record can name its topic without counting references.
package enum Topic: UInt8, Hashable, Sendable, CaseIterable, BitwiseCopyable {
    case session = 0
    case crash = 1
    case softError = 2
    case adEvent = 3
    /// Policies, assignments, overrides and caps: an audit trail, kept for ever.
    case control = 4
    /// The current state of each app.
    case throttle = 5
    /// What a person should know.
    case notice = 6
    /// One record an epoch and partition.
    case epoch = 7
    /// Images of the evaluator's state, in chunks.
    case snapshot = 8
    /// Records that could not be used.
    case dead = 9
    /// How much the ads of each app annoy people, by country.
    case stress = 10

    package enum Kind: Hashable, Sendable {
        /// Records are deleted once they are older than the retention; nil: kept for ever.
        case stream(retentionMilliseconds: Int64?)
        /// Only the last record of each key is kept; one without a value deletes the key.
        case table
    }

    /// The input of a type of event.
    package init(_ type: EventType) {
        self =
            switch type {
            case .session: .session
            case .crash: .crash
            case .softError: .softError
            case .adEvent: .adEvent
            }
    }

    /// The type of the events of an input, nil for any other topic.
    package var eventType: EventType? { EventType(rawValue: rawValue) }

    /// Without the prefix, which belongs to the log.
    package var name: String {
        switch self {
        case .session: "session"
        case .crash: "crash"
        case .softError: "soft_error"
        case .adEvent: "ad_event"
        case .control: "control"
        case .throttle: "throttle"
        case .notice: "notice"
        case .epoch: "epoch"
        case .snapshot: "snapshot"
        case .dead: "dead"
        case .stress: "stress"
        }
    }

    package var kind: Kind {
        switch self {
        case .session, .crash, .softError, .adEvent: Self.hours(24)
        case .control: .stream(retentionMilliseconds: nil)
        case .throttle, .stress: .table
        case .notice: Self.hours(30 * 24)
        case .epoch, .snapshot: Self.hours(48)
        case .dead: Self.hours(7 * 24)
        }
    }

    /// Whether it has the log's number of partitions; otherwise it has one.
    package var isPartitioned: Bool {
        switch self {
        case .control, .notice, .dead: false
        default: true
        }
    }

    private static func hours(_ count: Int64) -> Kind {
        .stream(retentionMilliseconds: count * 3_600_000)
    }

    /// What apps report, in the order in which records of equal append time are taken.
    package static let inputs: [Topic] = EventType.allCases.map { Topic($0) }

    package static var all: [Topic] { allCases }
}

/// One partition of a topic.
package struct TopicPartition: Hashable, Comparable, Sendable, BitwiseCopyable,
    CustomStringConvertible
{
    package var topic: Topic
    package var partition: Int

    package init(_ topic: Topic, _ partition: Int) {
        self.topic = topic
        self.partition = partition
    }

    package var description: String { "\(topic.name)[\(partition)]" }

    package static func < (one: TopicPartition, other: TopicPartition) -> Bool {
        (one.topic.rawValue, one.partition) < (other.topic.rawValue, other.partition)
    }
}
