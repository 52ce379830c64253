// Looking ahead changes nothing but how long counting takes.

import BrakeModel
import Testing

@testable import BrakeEngine

@Suite struct LookaheadTests {
    @Test("many events at once decide what they do one by one", arguments: 0..<4)
    func decidesTheSame(seed: UInt64) {
        // It goes past the number of apps from which on slots and rows are asked for ahead.
        let apps = 2 * Evaluator.cachedApps
        let stream = EventStream(seed: seed, batches: 60, apps: apps)
        var together = Evaluator(policy: SnapshotTests.quick)
        var alone = Evaluator(policy: SnapshotTests.quick)
        var (one, other) = (Decisions(), Decisions())
        for batch in stream.batches {
            together.apply(batch, into: &one)
            for place in batch.events.indices {
                alone.apply(batch, place..<place + 1, into: &other)
            }
            #expect(one.changes == other.changes, "seed \(seed)")
            #expect(one.stress == other.stress, "seed \(seed)")
            #expect(together.checksum == alone.checksum, "seed \(seed)")
            one.removeAll()
            other.removeAll()
        }
        #expect(together.apps.count > Evaluator.cachedApps)
    }
}
