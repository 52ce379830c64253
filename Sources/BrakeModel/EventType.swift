// The four kinds of events that apps report, one topic each.

/// What kind of event a record is. In the order in which records of equal append time are taken.
public enum EventType: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    case session = 0
    case crash = 1
    case softError = 2
    case adEvent = 3

    /// The word used in records, and the name of the topic.
    public var name: String {
        switch self {
        case .session: "session"
        case .crash: "crash"
        case .softError: "soft_error"
        case .adEvent: "ad_event"
        }
    }

    /// The type with exactly this name, nil for any other word.
    public init?(name: some StringProtocol) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }
}
