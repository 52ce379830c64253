// What becomes of an event, for whoever has sent it.

internal import Runtime

/// The fate of a record, and with it of each event that shares it: the log has it, or a fault.
public final class Delivery: Sendable {
    /// That the log has the record and would keep it through a crash.
    public struct Receipt: Sendable, Equatable {
        public init() {}
    }

    private struct State {
        var result: Result<Receipt, ProducerFault>?
        var waiting: [@Sendable (Result<Receipt, ProducerFault>) -> Void] = []
    }

    private let state = Monitor(State())

    init() {}

    /// The result, nil while it is still under way.
    public var result: Result<Receipt, ProducerFault>? { state.read { $0.result } }

    /// Waits on this thread; nil when the time is over and it is still under way.
    public func wait(milliseconds: Int) -> Result<Receipt, ProducerFault>? {
        state.wait(milliseconds: milliseconds) { $0.result }
    }

    /// Calls back with the result, at once if it is known; else on the producer's thread, which
    /// must not be held up.
    public func whenDone(_ call: @escaping @Sendable (Result<Receipt, ProducerFault>) -> Void) {
        let known = state.withLock { state in
            if state.result == nil { state.waiting.append(call) }
            return state.result
        }
        if let known { call(known) }
    }

    /// Suspends until the log has the record.
    public func receipt() async throws -> Receipt {
        try await withCheckedThrowingContinuation { continuation in
            whenDone { result in continuation.resume(with: result.mapError { $0 as any Error }) }
        }
    }

    func finish(_ result: Result<Receipt, ProducerFault>) {
        let calls = state.withLock { state in
            state.result = result
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in calls { call(result) }
    }
}
