// Faults of the server as a whole; a single request never faults, it is answered.

/// A listener that cannot start: what was tried, where, why, and what the operator can do.
package struct HTTPFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var operation: String
    package var place: String
    package var reason: String
    package var hint: String

    package var description: String { "\(operation) (\(place)): \(reason). Hint: \(hint)" }
}
