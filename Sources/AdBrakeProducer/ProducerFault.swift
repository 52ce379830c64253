// What a producer cannot do, and what its caller can.

internal import EventLog

/// Why something was not sent.
public enum ProducerFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The report breaks the contract: nothing was taken, and sending it again is in vain.
    case invalid(field: String, reason: String)
    /// The buffer stayed full for as long as a caller waits: the log is slower than its callers.
    case full
    /// The producer has been closed.
    case closed
    /// The log did not take the records. Whether it has some of them all the same is not known
    /// after a time-out; sessions and crashes with an id may be sent again, as repeats are
    /// recognised. Unless `isPassing`, no repetition helps.
    case log(reason: String, isPassing: Bool)

    public var description: String {
        switch self {
        case .invalid(let field, let reason): "\(field): \(reason)"
        case .full: "the producer's buffer is full: the log is slower than what is sent"
        case .closed: "the producer has been closed"
        case .log(let reason, _): reason
        }
    }
}

extension ProducerFault {
    init(_ fault: LogFault) {
        self = .log(reason: fault.description, isPassing: fault.remedy == .retry)
    }
}
