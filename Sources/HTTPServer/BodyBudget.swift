// The memory that bodies of all requests take together: clients decide how many send at once, the
// listener decides what that costs.
import Synchronization

/// Bytes lent to requests, up to a limit.
final class BodyBudget: Sendable {
    private let bytesMax: Int
    private let lent = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether so many more bytes could be lent.
    func take(_ bytes: Int) -> Bool {
        if lent.wrappingAdd(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        give(bytes)
        return false
    }

    func give(_ bytes: Int) { lent.wrappingSubtract(bytes, ordering: .relaxed) }
}
