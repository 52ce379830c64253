// The clocks that a part reads, as a value: the machine's when it runs, others when a test or a
// simulation drives it.

/// A wall clock and a steady one.
package struct Clocks: Sendable {
    private let wall: @Sendable () -> Int64
    private let steady: @Sendable () -> Int64

    /// `wall` in ms since 1970, may jump; `steady` in nanoseconds, never goes back.
    package init(
        wallMilliseconds wall: @escaping @Sendable () -> Int64,
        monotonicNanoseconds steady: @escaping @Sendable () -> Int64
    ) {
        self.wall = wall
        self.steady = steady
    }

    /// Those of this machine.
    package static let system = Clocks(
        wallMilliseconds: SystemClock.wallMilliseconds,
        monotonicNanoseconds: SystemClock.monotonicNanoseconds)

    package func wallMilliseconds() -> Int64 { wall() }

    package func monotonicNanoseconds() -> Int64 { steady() }

    package func monotonicMilliseconds() -> Int64 { steady() / 1_000_000 }
}
