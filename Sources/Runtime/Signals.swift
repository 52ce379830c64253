// Signals of the operating system as calls: TERM and INT ask to stop, HUP to read settings again.
import Glibc

/// What a signal means, given those before it. Pure.
package struct SignalSequence: Sendable {
    package enum Action: Sendable, Equatable {
        case stop(reason: String)
        /// The operator insists: exit now with this status.
        case exit(Int32)
        case reload
        case ignore
    }

    private var isStopping = false

    package init() {}

    package mutating func receive(_ signal: Int32) -> Action {
        switch signal {
        case SIGTERM, SIGINT:
            defer { isStopping = true }
            let name = signal == SIGTERM ? "SIGTERM" : "SIGINT"
            return isStopping ? .exit(128 + signal) : .stop(reason: name)
        case SIGHUP: return isStopping ? .ignore : .reload
        default: return .ignore
        }
    }
}

/// Waits for signals on a thread of its own.
package final class Signals: Sendable {
    private static let ours = [SIGTERM, SIGINT, SIGHUP]

    private let thread: WorkerThread

    /// Call it first thing in the program: threads inherit the mask which leaves the signals to
    /// the waiting thread. `reload` runs on that thread.
    package init(stop: StopSignal, reload: @escaping @Sendable () -> Void = {}) {
        // A closed peer is an error of a write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        var set = Self.makeSet()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        thread = WorkerThread(name: "signals") {
            Self.follow(stop: stop, reload: reload)
        }
    }

    /// Delivers a signal as the operating system would, to the waiting thread.
    package func deliver(_ signal: Int32) {
        thread.signal(signal)
    }

    private static func follow(stop: StopSignal, reload: () -> Void) {
        var sequence = SignalSequence()
        var set = makeSet()
        // The set and the number live on this stack.
        while true {
            var number: Int32 = 0
            guard unsafe sigwait(&set, &number) == 0 else { continue }
            switch sequence.receive(number) {
            case .stop(let reason): stop.request(reason: reason)
            case .exit(let status): _exit(status)
            case .reload: reload()
            case .ignore: break
            }
        }
    }

    private static func makeSet() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in ours { unsafe sigaddset(&set, signal) }
        return set
    }
}
