// A restored evaluator goes on as the original would have.

import BrakeModel
import Testing

@testable import BrakeEngine

@Suite struct SnapshotTests {
    static let quick = Policy(
        name: "quick", version: 1, tickMilliseconds: 1_000, counting: .sessions, initial: .caution,
        initialHoldSeconds: 20, entry: .jump, confidence: nil,
        rules: [
            Rule(
                name: "minute", state: .halt, window: .minute, condition: .crashFreeBelow(0.6),
                minSessions: 5, minDevices: 2),
            Rule(
                name: "ten", state: .throttle, window: .tenMinutes,
                condition: .crashFreeBelow(0.8), minSessions: 10),
            Rule(name: "count", state: .caution, window: .hour, condition: .crashesAtLeast(30)),
        ],
        caution: Level(dwellSeconds: 10), throttle: Level(dwellSeconds: 15),
        halt: Level(
            dwellSeconds: 20, recover: Recovery(window: .tenMinutes, atLeast: 0.7, minSessions: 5)),
        relapseSeconds: 120, dwellMaxSeconds: 90, silence: Silence(share: 0.3, baseline: 20),
        launch: Launch(aliveBelow: 0.2, baseline: 0.3, minSessions: 10, state: .throttle))

    @Test("restored at any batch, it decides the same and has the same checksum", arguments: 0..<20)
    func goesOn(seed: UInt64) throws {
        let stream = EventStream(seed: seed)
        let limits = EvaluatorLimits(sessionIDsMax: 1 << 10, crashIDsMax: 1 << 10)
        var original = Evaluator(policy: Self.quick, limits: limits)
        var restored: Evaluator? = nil
        var random = Seeded(seed + 1_000)
        for batch in stream.batches {
            var one = Decisions()
            original.apply(batch, into: &one)
            if var evaluator = restored.take() {
                var other = Decisions()
                evaluator.apply(batch, into: &other)
                #expect(one.changes == other.changes, "seed \(seed)")
                #expect(one.notices == other.notices, "seed \(seed)")
                #expect(one.stress == other.stress, "seed \(seed)")
                #expect(original.checksum == evaluator.checksum, "seed \(seed)")
                restored = consume evaluator
            }
            if random.below(3) == 0 {
                restored = try Evaluator(
                    restoring: original.snapshot(), controls: Controls(policies: [Self.quick]),
                    limits: limits)
            }
        }
        // Later looks have been restored too.
        if var evaluator = restored.take() {
            var one = Decisions()
            var other = Decisions()
            original.advance(to: original.clock + 8_000_000, into: &one)
            evaluator.advance(to: evaluator.clock + 8_000_000, into: &other)
            #expect(one.changes == other.changes, "seed \(seed)")
        }
    }

    @Test("the snapshot of a restored evaluator is the same, byte for byte")
    func isStable() throws {
        var evaluator = Evaluator(policy: Self.quick)
        var decisions = Decisions()
        for batch in EventStream(seed: 7).batches { evaluator.apply(batch, into: &decisions) }
        let bytes = evaluator.snapshot()
        let restored = try Evaluator(
            restoring: bytes, controls: Controls(policies: [Self.quick]), limits: EvaluatorLimits())
        #expect(restored.snapshot() == bytes)
    }

    @Test("damaged bytes are refused and never trap", arguments: 0..<10)
    func refusesDamage(seed: UInt64) {
        var evaluator = Evaluator(policy: Self.quick)
        var decisions = Decisions()
        for batch in EventStream(seed: seed, batches: 4).batches {
            evaluator.apply(batch, into: &decisions)
        }
        let bytes = evaluator.snapshot()
        var random = Seeded(seed)
        for _ in 0..<30 {
            var damaged = bytes
            switch random.below(3) {
            case 0: damaged.removeLast(1 + random.below(damaged.count - 1))
            case 1: damaged[random.below(damaged.count)] = UInt8(random.below(256))
            default: damaged.append(UInt8(random.below(256)))
            }
            guard
                var restored = try? Evaluator(
                    restoring: damaged, controls: Controls(policies: [Self.quick]),
                    limits: EvaluatorLimits())
            else { continue }
            // Another number in place of one: it must still work on.
            restored.advance(to: evaluator.clock + 100_000, into: &decisions)
        }
    }

    /// The second version had the names of policies, and each app the place of its own, where now
    /// there is the tick of overrides, a byte when there is none, and what they have made of a
    /// state. The first had no time at which windows are full either, a byte when they are. All
    /// that comes after the version, the clock of variable length, and eight bytes of checksum.
    @Test("earlier versions are read, too", arguments: [UInt8(1), 2])
    func earlierVersions(version: UInt8) throws {
        var evaluator = Evaluator(policy: Self.quick)
        var decisions = Decisions()
        for batch in EventStream(seed: 3).batches { evaluator.apply(batch, into: &decisions) }
        // That was told of nothing but stress, which they did not have, at the end.
        evaluator.forgetStress()
        let bytes = evaluator.snapshot()
        var earlier = Array(bytes.dropLast(2))
        earlier[0] = version
        let clockEnd = try #require(earlier.dropFirst().firstIndex { $0 < 0x80 })
        let windowsFullAt = clockEnd + 1 + 8
        let name = Array(Self.quick.name.utf8)
        earlier.replaceSubrange(
            windowsFullAt + 1...windowsFullAt + 1, with: [1, UInt8(name.count)] + name)
        if version == 1 { earlier.remove(at: windowsFullAt) }
        let restored = try Evaluator(
            restoring: earlier, controls: Controls(policies: [Self.quick]),
            limits: EvaluatorLimits())
        #expect(restored.snapshot() == bytes)
    }

    @Test("an unknown version says so")
    func refusesUnknownVersion() {
        #expect(throws: RestoreFault.unknownVersion(99)) {
            _ = try Evaluator(
                restoring: [99], controls: Controls(policies: [Self.quick]),
                limits: EvaluatorLimits())
        }
    }
}
