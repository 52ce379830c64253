// Time as the logs take it: an argument, so that tests and simulations can set it.
import Glibc

/// Where a log takes the time from, in ms since 1970.
package struct LogClock: Sendable {
    package let now: @Sendable () -> Int64

    package init(_ now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    /// The clock of this machine, which may be set back.
    package static let wall = LogClock { milliseconds(CLOCK_REALTIME) }

    /// For waits: never goes back, says nothing about the date.
    package static let steady = LogClock { milliseconds(CLOCK_MONOTONIC) }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
