// The one way to end a part: it is asked, sees it within a bounded time, finishes, and returns.

/// Asked once, seen by everyone who polls or waits. Threads wait on it, tasks must not.
package final class StopSignal: Sendable {
    /// More hooks than this on one signal are a leak.
    package static let hooksMax = 256

    private struct State {
        var reason: String?
        var hooks: [@Sendable () -> Void] = []
    }

    private let state = Monitor(State())

    package init() {}

    package var isRequested: Bool { state.read { $0.reason != nil } }

    /// Why it was asked, for the log.
    package var reason: String? { state.read { $0.reason } }

    /// Asks to stop; the first reason stands.
    package func request(reason: String) {
        let hooks: [@Sendable () -> Void] = state.withLock { state in
            guard state.reason == nil else { return [] }
            state.reason = reason
            defer { state.hooks = [] }
            return state.hooks
        }
        for hook in hooks { hook() }
    }

    /// Waits until asked or until the time is over; returns whether asked.
    @discardableResult
    package func wait(milliseconds: Int) -> Bool {
        state.wait(milliseconds: milliseconds) { $0.reason == nil ? nil : true } ?? false
    }

    /// Runs the hook once, when asked, on the thread that asks; at once if asked already. For parts
    /// that block on something else and have to be woken.
    package func whenRequested(_ hook: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            guard state.reason == nil else { return true }
            precondition(state.hooks.count < Self.hooksMax, "hooks are added a few times per part")
            state.hooks.append(hook)
            return false
        }
        if isLate { hook() }
    }
}
