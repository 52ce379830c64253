// What is remembered of ids is what a dictionary would remember.

import Testing

@testable import BrakeEngine

@Suite struct SeenIDsTests {
    @Test("new, repeated and forgotten as in a dictionary", arguments: 0..<40)
    func agreesWithDictionary(seed: UInt64) {
        var random = Seeded(seed)
        var seen = SeenIDs(horizonMilliseconds: 10_000, capacityMax: 1 << 14)
        var firsts: [UInt64: Int64] = [:]
        var clock: Int64 = 1_000_000
        for _ in 0..<20_000 {
            clock += Int64(random.below(20))
            // Few places in the index, so that runs are long and deletions shift; told apart in the
            // index, or by the ring alone.
            let upper: UInt64 = seed.isMultiple(of: 2) ? 32 : 50
            let hash = UInt64(random.below(700)) << upper | UInt64(random.below(8))
            let isRepeat = firsts[hash].map { clock - $0 <= 10_000 } ?? false
            if !isRepeat { firsts[hash] = clock }
            let isNew = seen.insert(hash, append: clock, clock: clock)
            // Asked of the one that differs alone: to expect something takes its time.
            if isNew == isRepeat {
                Issue.record("seed \(seed): \(hash) at \(clock) is new: \(isNew)")
                return
            }
        }
        #expect(seen.displaced == 0)
    }

    @Test("exactly at the horizon is a repeat, a millisecond later is not")
    func horizonIsInclusive() {
        var seen = SeenIDs(horizonMilliseconds: 1_000, capacityMax: 1 << 10)
        let answers = [0, 1_000, 1_001].map { seen.insert(1, append: $0, clock: $0) }
        #expect(answers == [true, false, true])
    }

    @Test("when memory is full the oldest gives way, and that is counted")
    func displacesOldest() {
        var seen = SeenIDs(horizonMilliseconds: 1_000_000, capacityMax: 1 << 10)
        for id in 0..<1_025 { _ = seen.insert(UInt64(id) << 20 | 1, append: 0, clock: 0) }
        #expect(seen.displaced == 1)
        let second = seen.insert(1 << 20 | 1, append: 0, clock: 0)
        let first = seen.insert(1, append: 0, clock: 0)
        #expect(!second && first)
    }
}
