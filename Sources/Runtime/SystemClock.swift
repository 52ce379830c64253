// The machine's clocks, as numbers. Parts that decide take time as an argument; only shells call
// this.
import Glibc

/// Reads the clocks of the machine.
package enum SystemClock {
    /// Wall clock, ms since 1970; may jump.
    package static func wallMilliseconds() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds since some fixed moment; never goes back, for distances and deadlines.
    package static func monotonicNanoseconds() -> Int64 {
        let time = read(CLOCK_MONOTONIC)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// As `monotonicNanoseconds`, in ms.
    package static func monotonicMilliseconds() -> Int64 {
        monotonicNanoseconds() / 1_000_000
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // The pointer lives for the call only; these two clocks always exist on Linux.
        let status = unsafe clock_gettime(clock, &time)
        precondition(status == 0, "the clock can be read")
        return time
    }
}
