// The evaluator's stress index against the reference, over random streams, cut into batches
// anywhere and restored from snapshots on the way.
import BrakeModel
import BrakeWire
import Testing

@testable import BrakeEngine

@Suite("Stress equals the reference")
struct StressEqualsReferenceTests {
    private static let rules = [
        StressRule(
            name: "hour", condition: .signalsPerThousandAtLeast(40, .hour), minImpressions: 20,
            nonFatals: 2),
        StressRule(
            name: "day", condition: .signalsPerThousandAtLeast(12.5, .day), minImpressions: 0,
            nonFatals: 1),
        StressRule(
            name: "slower", condition: .dismissTrendAtLeast(1.25), minImpressions: 5, nonFatals: 1),
    ]
    private static let referenceRules = [
        ReferenceStress.Rule(perThousand: 40, minImpressions: 20, nonFatals: 2),
        ReferenceStress.Rule(perThousand: 12.5, isOfDay: true, nonFatals: 1),
        ReferenceStress.Rule(trend: 1.25, minImpressions: 5, nonFatals: 1),
    ]
    private static let policy = {
        var policy = BuiltInPolicies.default
        policy.stress = rules
        return policy
    }()

    @Test("Over random streams", arguments: UInt64(0)..<4)
    func streams(seed: UInt64) throws {
        let input = StressStream.lines(seed: seed)
        let expected = ReferenceStress.told(over: input, Self.referenceRules)
        let run = try StressRun(input, policy: Self.policy, seed: seed)
        let again = try StressRun(input, policy: Self.policy, seed: seed + 100)
        #expect(expected.count > 100, "a stream that tells nothing tests nothing, seed \(seed)")
        #expect(expected.contains { $0.text == nil } && run.tightenings > 2, "seed \(seed)")
        let difference = zip(expected, run.told).first { $0 != $1 }
        #expect(difference == nil, "seed \(seed)")
        #expect(expected.count == run.told.count, "seed \(seed)")
        #expect(run.told == again.told && run.checksum == again.checksum, "seed \(seed)")
    }

    @Test("What no rule tightens leaves the checksum alone")
    func checksum() throws {
        let input = StressStream.lines(seed: 9)
        let one = try StressRun(input, policy: BuiltInPolicies.default, seed: 1)
        let other = try StressRun(input, policy: Self.policy, seed: 1)
        #expect(one.tightenings == 0 && other.tightenings > 0)
        #expect(one.checksum != other.checksum)
        // As builds that knew of no dismissals have it.
        let plain = try StressRun(
            input.map { $0.replacing("dismiss_delay_ms", with: "dismissed_after") },
            policy: BuiltInPolicies.default, seed: 1)
        #expect(plain.checksum == one.checksum && plain.told != one.told)
    }
}

/// An evaluator over lines, and what it has told.
private struct StressRun {
    private(set) var told: [ReferenceStress.Told] = []
    private(set) var tightenings = 0
    private(set) var checksum: UInt64 = 0

    init(_ input: [String], policy: Policy, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var evaluator = Evaluator(policy: policy)
        let decoder = ReplayDecoder()
        var batch = EventBatch()
        var decisions = Decisions()
        var rejected: [RejectedEvent] = []
        var last: Int64 = 0
        for line in input {
            let bytes = Array(line.utf8)
            let append = unsafe bytes.withUnsafeBytes {
                unsafe decoder.decode($0, into: &batch, rejected: &rejected)
            }
            last = append ?? last
            guard random.chance(0.2) else { continue }
            evaluator.apply(batch, into: &decisions)
            batch.removeAll()
            evaluator.advance(to: last, into: &decisions)
            take(&decisions)
            if random.chance(0.01) {
                let image = evaluator.snapshot()
                evaluator = try Evaluator(
                    restoring: image, controls: Controls(policies: [policy]),
                    limits: EvaluatorLimits())
                #expect(evaluator.snapshot() == image)
            }
        }
        evaluator.apply(batch, into: &decisions)
        evaluator.advance(to: last, into: &decisions)
        take(&decisions)
        checksum = evaluator.checksum
    }

    private mutating func take(_ decisions: inout Decisions) {
        tightenings += decisions.tightenings
        for change in decisions.stress {
            let text = change.index.map { index in
                ([index.all] + index.countries).map(Self.words).joined(separator: "; ")
            }
            told.append(.init(tick: change.clock, app: change.app.text, text: text))
        }
        decisions.removeAll()
    }

    private static func words(_ place: StressPlace) -> String {
        func text(_ counts: StressCounts) -> String {
            "\(counts.impressions)/\(counts.signals)/\(counts.dismissals)/\(counts.delay)"
        }
        return "\(place.country?.text ?? "all") \(text(place.hour)) \(text(place.day)) "
            + "nf\(place.nonFatals)"
    }
}

/// Ads shown, dismissed and disliked for days: well and ill by turns, late, gathered, with gaps.
private struct StressStream {
    static func lines(seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed)
        var now: Int64 = 1_700_006_400_000 + random.number(Int64(0)...3_600_000)
        let end = now + random.number(Int64(50)...70) * 3_600_000
        var lines: [String] = []
        var isIll = [false, false, false]
        let countries = [
            #""country":"DE","#, #""country":"fr","#, #""country":"US","#, #""country":"XX","#,
            #""country":5,"#, "",
        ]
        while now < end {
            let app = random.number(0...2)
            if random.chance(0.03) { isIll[app].toggle() }
            // The third app annoys seldom, so that it is forgotten in between.
            let annoys = app == 2 ? (isIll[app] ? 0.01 : 0) : isIll[app] ? 0.1 : 0.01
            let late = random.chance(0.1) ? random.number(Int64(0)...93_600_000) : 0
            let head =
                #""app":"app-\#(app)","at":\#(now - late),\#(random.pick(countries))"#
            let value: String
            if random.chance(annoys) {
                value = #"{\#(head)"type":"soft_error","signal":"slow_dismiss"}"#
            } else if random.chance(0.3), app < 2 {
                let delay = random.number(500...(isIll[app] ? 9_000 : 3_000))
                let count = random.chance(0.1) ? #","count":\#(random.number(2...9))"# : ""
                value =
                    #"{\#(head)"type":"ad_event","event":"dismissed","dismiss_delay_ms":\#(delay)"#
                    + count + "}"
            } else {
                let count = random.chance(0.2) ? #","count":\#(random.number(2...40))"# : ""
                value = #"{\#(head)"type":"ad_event","event":"shown"\#(count)}"#
            }
            lines.append(#"{"append":\#(now),"value":\#(value)}"#)
            now += random.number(Int64(0)...400_000)
            if random.chance(0.02) { now = (now / 60_000 + 1) * 60_000 + random.number(-1...1) }
            if random.chance(0.001) { now += random.number(Int64(1)...30) * 3_600_000 }
        }
        lines.append(#"{"append":\#(now + 100_000_000)}"#)
        return lines
    }
}
