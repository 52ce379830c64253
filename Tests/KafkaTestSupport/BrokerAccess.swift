// Tests share one broker: most of them beside each other, but not too many at once, and those that
// freeze or kill it alone.

/// Who may use the broker now. First come, first served: none waits for ever.
package actor BrokerAccess {
    package enum Mode: Sendable {
        /// With others at the same time.
        case beside
        /// While nobody else does.
        case alone
    }

    /// So many at a time: they wait for each other's sessions and time-outs more than they compute,
    /// but every one of them has clients or processes that a small machine has to bear.
    private static let besideMax = 2

    private var users = 0
    private var isTakenAlone = false
    private var waiting: [(mode: Mode, goOn: CheckedContinuation<Void, Never>)] = []

    /// Waits for its turn; `leave` ends it.
    package func enter(_ mode: Mode) async {
        if waiting.isEmpty && isFree(for: mode) { return admit(mode) }
        await withCheckedContinuation { waiting.append((mode, $0)) }
    }

    package func leave() {
        users -= 1
        isTakenAlone = false
        while let next = waiting.first, isFree(for: next.mode) {
            waiting.removeFirst()
            admit(next.mode)
            next.goOn.resume()
        }
    }

    private func isFree(for mode: Mode) -> Bool {
        mode == .alone ? users == 0 : !isTakenAlone && users < BrokerAccess.besideMax
    }

    private func admit(_ mode: Mode) {
        users += 1
        isTakenAlone = mode == .alone
    }
}
