// A clock with what follows from it for counting.

/// What the counting of each event asks of the clock, computed when that moves.
struct Moment {
    /// C, or `Evaluator.notStarted`.
    let clock: Int64
    /// The newest second of windows, as stored.
    let second: UInt32
    /// What is before it is before the longest window, ms since 1970.
    let expiredBefore: Int64

    init(_ clock: Int64) {
        self.clock = clock
        guard clock > Evaluator.notStarted else {
            second = 0
            expiredBefore = .min
            return
        }
        second = Panes.headSecond(at: clock)
        let newest = Panes.second(ofMilliseconds: clock - 1) / 60
        let first = (newest - Int64(Panes.perWindow) + 1) * 60
        expiredBefore = (first - Panes.secondsOffset) * 1_000
    }
}
