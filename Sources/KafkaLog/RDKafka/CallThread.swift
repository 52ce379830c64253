// A thread for calls of the library that should return in time, but of which some do not:
// librdkafka 2.0.2 can lose the result of a transactional call, and its caller then waits for ever.

import Glibc
import Runtime

/// Runs one call at a time on a thread of its own. A call that does not return costs that thread
/// and what the call holds, not the lane.
final class CallThread: Sendable {
    private struct State: Sendable {
        var call: (@Sendable () -> RDKafkaError?)?
        /// Set when the call has returned; its own value may be nil.
        var answer: RDKafkaError??
        var isEnding = false
    }

    private let state = Monitor(State())

    init() {
        let state = state
        CallThread.detach {
            while let call = state.wait(milliseconds: nil, for: { CallThread.next(&$0) }) ?? nil {
                let answer = call()
                state.withLock { $0.answer = .some(answer) }
            }
        }
    }

    deinit { end() }

    /// Waits for the call's answer. `isStuck` is set when none came in time: this thread is of no
    /// use any more then.
    func run(
        waitMilliseconds: Int, isStuck: inout Bool, _ call: @escaping @Sendable () -> RDKafkaError?
    ) -> RDKafkaError? {
        state.withLock { state in
            state.answer = nil
            state.call = call
        }
        let answer = state.wait(milliseconds: waitMilliseconds) { $0.answer }
        isStuck = answer == nil
        return answer ?? nil
    }

    /// Lets the thread end once it is done.
    func end() { state.withLock { $0.isEnding = true } }

    /// The next call; nil inside when the thread shall end.
    private static func next(_ state: inout State) -> (@Sendable () -> RDKafkaError?)?? {
        if let call = state.call {
            state.call = nil
            return .some(call)
        }
        return state.isEnding ? .some(nil) : nil
    }

    /// The thread owns the body until it ends.
    private static func detach(_ body: @escaping @Sendable () -> Void) {
        final class Body: Sendable {
            let run: @Sendable () -> Void
            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }
        let box = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { raw in
                if let raw = unsafe raw {
                    unsafe Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
                }
                return nil
            }, box.toOpaque())
        precondition(result == 0, "the process is out of threads")
        pthread_detach(thread)
    }
}
