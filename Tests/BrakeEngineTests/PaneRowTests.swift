// Rings of panes agree with a list of times.

import Testing

@testable import BrakeEngine

@Suite struct PaneRowTests {
    /// What windows hold that end at a head, counted from a list.
    private func naive(_ seconds: [Int], head: Int, window: Int) -> Int {
        let pane = [1, 10, 60][window]
        return seconds.filter { $0 / pane <= head / pane && $0 / pane > head / pane - 60 }.count
    }

    @Test("any order of adding and sliding gives what a list gives", arguments: 0..<40)
    func agreesWithList(seed: UInt64) {
        var random = Seeded(seed)
        var pool = RowPool()
        var row = RowReference.none
        var times: [Int] = []
        var head = 100_000 + random.below(4_000)
        for _ in 0..<200 {
            if random.below(3) == 0 {
                let next = head + [1, 1, 2, 9, 10, 61, 600, 4_000][random.below(8)]
                pool.slide(&row, to: UInt32(next))
                head = next
            }
            let second = head - [0, 0, 1, 5, 59, 60, 599, 600, 3_541][random.below(9)]
            for _ in 0..<[1, 1, 1, 300][random.below(4)] where head / 60 - second / 60 < 60 {
                times.append(second)
                let isAdded = pool.add(to: &row, at: UInt32(second), head: UInt32(head))
                #expect(isAdded)
            }
            for window in 0..<3 {
                let expected = naive(times, head: head, window: window)
                #expect(pool.sum(row, window: window) == expected, "seed \(seed)")
            }
            times.removeAll { $0 / 60 <= head / 60 - 60 }
        }
    }

    @Test("a row is given back when its last pane has left the hour")
    func givesBack() {
        var pool = RowPool()
        var row = RowReference.none
        _ = pool.add(to: &row, at: 600_000, head: 600_000)
        pool.slide(&row, to: 603_599)
        #expect(!row.isNone)
        pool.slide(&row, to: 603_600)
        #expect(row.isNone)
    }

    @Test("counters widen when a pane is full, and keep what they have")
    func widens() {
        var pool = RowPool()
        var row = RowReference.none
        for _ in 0..<70_000 { _ = pool.add(to: &row, at: 600_000, head: 600_000) }
        #expect(row.width == .four)
        #expect((0..<3).map { pool.sum(row, window: $0) } == [70_000, 70_000, 70_000])
    }
}
