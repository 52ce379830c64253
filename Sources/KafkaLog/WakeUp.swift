// How a thread that waits for records hears of other things: one place that all of them report to,
// so that it sleeps until there is something instead of looking again and again.

import CRdKafka
import EventLog
import Runtime
import Synchronization

/// A wait that others can end. `rouse` may be called from any thread.
final class WakeUp: Sendable {
    private let isRoused = Monitor(false)

    func rouse() { isRoused.withLock { $0 = true } }

    /// Forgets what has happened so far; to be called before looking at the queues.
    func reset() { isRoused.withLock { $0 = false } }

    /// Waits until somebody rouses, or the time is over.
    func wait(milliseconds: Int) {
        _ = isRoused.wait(milliseconds: milliseconds) { $0 ? true : nil }
    }

    /// Lets a queue rouse when it is no longer empty. Unretained: whoever owns the queue holds
    /// this, and calls `detach` before letting the queue go.
    @unsafe
    func attach(_ queue: OpaquePointer) {
        unsafe rd_kafka_queue_cb_event_enable(
            queue,
            { _, opaque in
                guard let opaque = unsafe opaque else { return }
                unsafe Unmanaged<WakeUp>.fromOpaque(opaque).takeUnretainedValue().rouse()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    @unsafe
    static func detach(_ queue: OpaquePointer) {
        unsafe rd_kafka_queue_cb_event_enable(queue, nil, nil)
    }
}

/// The log's wish that waits end, heard by all its readers and workers.
final class Interruption: Sendable {
    private struct State {
        var isRaised = false
        var listeners: [ObjectIdentifier: WakeUp] = [:]
    }

    private let state = Mutex(State())

    var isRaised: Bool { state.withLock { $0.isRaised } }

    /// Once and for all.
    func raise() {
        state.withLock { state in
            state.isRaised = true
            for wakeUp in state.listeners.values { wakeUp.rouse() }
        }
    }

    func add(_ wakeUp: WakeUp) {
        state.withLock { $0.listeners[ObjectIdentifier(wakeUp)] = wakeUp }
    }

    func remove(_ wakeUp: WakeUp) {
        state.withLock { $0.listeners[ObjectIdentifier(wakeUp)] = nil }
    }
}
