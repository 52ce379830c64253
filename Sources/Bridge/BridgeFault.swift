// What may go wrong between the bridge and the service behind it.

/// A failed step: what was tried, why it failed, and what the operator can do.
package struct BridgeFault: Error, Sendable, CustomStringConvertible {
    enum Remedy: Sendable, Equatable {
        /// The service may answer the next time, not sooner than in so many seconds if it said so.
        case retry(afterSeconds: Int?)
        /// The token is no longer taken: get another one.
        case token
        /// Somebody else has published meanwhile: read again.
        case conflict
        /// Nothing changes until the operator changes something; still tried now and then.
        case stop
    }

    var operation: String
    var reason: String
    var hint: String
    var remedy: Remedy

    init(_ operation: String, reason: String, hint: String, remedy: Remedy) {
        self.operation = operation
        self.reason = reason
        self.hint = hint
        self.remedy = remedy
    }

    package var description: String { "\(operation): \(reason). Hint: \(hint)" }
}
