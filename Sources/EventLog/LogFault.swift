// Faults outside us: a log that cannot be reached, refuses, is full or is damaged.

/// A failed operation on a log: what was tried, where, why, and what the operator can do.
package struct LogFault: Error, Sendable, CustomStringConvertible {
    /// What the caller has to do about it; the one place that says retry, give up or stop.
    package enum Remedy: Sendable, Equatable {
        /// The log may come back: try the same call again.
        case retry
        /// Another process has taken over: drop all state of the open epoch and stop.
        case fenced
        /// The group has given this member up, as after too long a silence of the log, and nobody
        /// has its place: close the worker, drop all state, and begin with a new one.
        case rejoin
        /// The log denies us a right: nothing else of the log makes up for it. The operator has to
        /// grant it.
        case refused
        /// No retry helps: stop and tell the operator.
        case stop
    }

    package var operation: String
    package var place: String
    package var reason: String
    package var hint: String?
    package var remedy: Remedy

    package init(
        _ operation: String, at place: String, reason: String, hint: String? = nil, remedy: Remedy
    ) {
        self.operation = operation
        self.place = place
        self.reason = reason
        self.hint = hint
        self.remedy = remedy
    }

    package var description: String {
        "\(operation) (\(place)): \(reason)" + (hint.map { ". Hint: \($0)" } ?? "")
    }

    /// Somebody else holds the name of an exclusive appender.
    package static func nameTaken(_ name: String, at place: String) -> LogFault {
        LogFault(
            "append", at: place, reason: "another process has begun the same work: \(name)",
            hint: "let one of them only run at a time", remedy: .fenced)
    }
}
