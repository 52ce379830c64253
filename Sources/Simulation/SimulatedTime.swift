// Time that stands still until it is moved.

package import EventLog
package import Runtime
import Synchronization

/// A wall clock that can be set, and a steady one that only passes. Any thread may read it.
package final class SimulatedTime: Sendable {
    /// A moment to begin at: a multiple of every pane and of most ticks, in ms since 1970.
    package static let beginning: Int64 = 1_800_000_000_000

    private struct Hands {
        var wall: Int64
        var steady: Int64 = 0
    }

    private let hands: Mutex<Hands>

    package init(wall: Int64 = SimulatedTime.beginning) {
        hands = Mutex(Hands(wall: wall))
    }

    package var wall: Int64 { hands.withLock { $0.wall } }
    package var steady: Int64 { hands.withLock { $0.steady } }

    /// Lets time pass.
    package func pass(_ milliseconds: Int64) {
        hands.withLock { hands in
            hands.wall += milliseconds
            hands.steady += milliseconds
        }
    }

    /// Sets the wall clock forwards or back; the steady one notices nothing.
    package func jump(_ milliseconds: Int64) {
        hands.withLock { $0.wall += milliseconds }
    }

    /// For parts that are driven.
    package var clocks: Clocks {
        Clocks(
            wallMilliseconds: { self.wall },
            monotonicNanoseconds: { self.steady * 1_000_000 })
    }

    /// For logs.
    package var logClock: LogClock { LogClock { self.wall } }
}
