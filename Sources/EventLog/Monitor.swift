// A lock with a condition: state that threads share, and the wait for it to change. The library's
// `Mutex` cannot wait, and a queue of our own would poll.
import Glibc

/// State behind a lock, with a way to wait until it fulfils a condition.
///
/// Unchecked: every access to `state` is made with `mutex` held, and both pthread objects live as
/// long as the monitor does.
@safe
package final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    package init(_ state: State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Waits shall not lengthen or end when the wall clock is set.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(changed, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs the body with the lock held. Waiting threads are not woken.
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Runs the body with the lock held, then wakes all waiting threads.
    package func change<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Waits until the body returns a value, which it is asked for at every change; nil when the
    /// time is over first. Without a time it waits for as long as it takes.
    package func wait<Result>(
        milliseconds: Int?, for body: (inout State) -> Result?
    ) -> Result? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        if let result = body(&state) { return result }
        guard let milliseconds else {
            while true {
                unsafe pthread_cond_wait(changed, mutex)
                if let result = body(&state) { return result }
            }
        }
        guard milliseconds > 0 else { return nil }
        var deadline = Monitor.deadline(milliseconds: milliseconds)
        while unsafe pthread_cond_timedwait(changed, mutex, &deadline) == 0 {
            if let result = body(&state) { return result }
        }
        return body(&state)
    }

    private static func deadline(milliseconds: Int) -> timespec {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let nanoseconds = time.tv_nsec + milliseconds % 1_000 * 1_000_000
        return timespec(
            tv_sec: time.tv_sec + milliseconds / 1_000 + nanoseconds / 1_000_000_000,
            tv_nsec: nanoseconds % 1_000_000_000)
    }
}
