// A value behind a lock whose holders can wait for it to change: the base of everything that hands
// over between threads. The standard `Mutex` has no condition to wait on.
import Glibc

/// A mutex and a condition around one value.
///
/// @unchecked Sendable: the value and both pthread objects are reached under the mutex only, and
/// the pthread objects stay at one address until the last reference is gone.
@safe
package final class Monitor<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition = .allocate(capacity: 1)
        unsafe condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        // The attributes live on this stack for these calls. Deadlines follow the monotonic clock:
        // a jump of the wall clock neither cuts a wait short nor makes it endless.
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let made = unsafe pthread_cond_init(condition, &attributes)
        let madeMutex = unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_condattr_destroy(&attributes)
        precondition(made == 0 && madeMutex == 0, "a lock can always be made")
    }

    deinit {
        // Nobody waits here any more: whoever waits holds a reference.
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs the body with the value, alone, then wakes everyone who waits. Keep the body short.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(condition)
            unsafe pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Reads the value, alone, without waking anyone.
    package func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(value)
    }

    /// Calls the body each time the value has changed, at first now, until it returns something or
    /// the time is over; nil then. Without a time it waits for as long as it takes. Wakes others,
    /// as the body may have changed the value.
    package func wait<Result>(
        milliseconds: Int?, for body: (inout Value) -> sending Result?
    ) -> sending Result? {
        let deadline = Self.deadline(afterMilliseconds: milliseconds)
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) {
                unsafe pthread_cond_broadcast(condition)
                return result
            }
            var until = deadline
            // A timed-out wait has taken the mutex again, so a last look at the value is safe.
            guard unsafe pthread_cond_timedwait(condition, mutex, &until) == 0 else {
                return body(&value)
            }
        }
    }

    private static func deadline(afterMilliseconds milliseconds: Int?) -> timespec {
        // A year is for ever here, and keeps the sum far from overflow.
        let bounded = Int64(max(0, min(milliseconds ?? .max, 31_536_000_000)))
        let nanoseconds = SystemClock.monotonicNanoseconds() + bounded * 1_000_000
        return timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
