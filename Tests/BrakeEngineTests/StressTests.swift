// What the stress index costs, and what bounds it; what it says is held against the reference.

import BrakeModel
import Testing

@testable import BrakeEngine

@Suite struct StressTests {
    private static let start: Int64 = 1_700_000_000_000

    private func batch(
        _ meaning: EventMeaning, _ app: String, countries: [UInt16], at append: Int64
    ) throws -> EventBatch {
        var batch = EventBatch()
        let app = try #require(AppID(app))
        for country in countries {
            var event = Event(appHash: 0, meaning: meaning, append: append)
            event.circumstances = AdCircumstances(country: country)
            batch.add(event, app: app)
        }
        return batch
    }

    @Test func `a slot takes two cache lines`() {
        #expect(MemoryLayout<AppSlot>.stride == 128)
    }

    @Test func `apps that send no sign of annoyance are not counted`() throws {
        var evaluator = Evaluator(policy: SnapshotTests.quick)
        var decisions = Decisions()
        for meaning in EventMeaning.allCases where meaning != .signal && meaning != .dismissal {
            evaluator.apply(
                try batch(meaning, "a", countries: [0x4445], at: Self.start), into: &decisions)
        }
        #expect(evaluator.stress.isEmpty && evaluator.stressTick == .max)
        evaluator.advance(to: Self.start + 120_000, into: &decisions)
        #expect(decisions.stress.isEmpty)
    }

    @Test func `countries beyond the limit are left out and metered, until there is room`() throws {
        #expect(EvaluatorLimits().stressPlacesMax == 8_192)
        let limits = EvaluatorLimits(stressPlacesMax: 1_000)
        var evaluator = Evaluator(policy: SnapshotTests.quick, limits: limits)
        var decisions = Decisions()
        let letters = UInt16(UInt8(ascii: "A"))...UInt16(UInt8(ascii: "Z"))
        let countries = letters.flatMap { one in letters.map { one << 8 | $0 } }
            .filter(CountryCode.isNumber)
        #expect(countries.count == 675)
        let apps = limits.stressPlacesMax / countries.count + 1
        for app in 0..<apps {
            evaluator.apply(
                try batch(.signal, "app-\(app)", countries: countries, at: Self.start),
                into: &decisions)
        }
        #expect(evaluator.stress.rows.count == limits.stressPlacesMax)
        let refused = apps * countries.count - limits.stressPlacesMax
        #expect(evaluator.tallies.refusedCountries == Int64(refused))
        evaluator.advance(to: Self.start + 60_000, into: &decisions)
        #expect(decisions.stress.count == apps)
        let told = try #require(decisions.stress.first?.index)
        #expect(told.countries.count == StressIndex.countriesMax)
        #expect(told.all.hour.signals == 675)
        decisions.removeAll()
        evaluator.advance(to: Self.start + 90_000_000, into: &decisions)
        #expect(evaluator.stress.isEmpty && decisions.stress.count { $0.index == nil } == apps)
        evaluator.apply(
            try batch(.signal, "late", countries: countries, at: evaluator.clock),
            into: &decisions)
        #expect(evaluator.tallies.refusedCountries == Int64(refused))
    }

    @Test func `counts that are full stay full`() {
        var counts = StressCounts()
        counts.delay = .max - 1
        var more = StressCounts()
        more.delay = 7
        counts += more
        #expect(counts.delay == .max)
    }
}

extension Evaluator {
    mutating func forgetStress() {
        for slot in stress.told.keys { apps.slots[slot].isStressed = false }
        stress = StressTable(placesMax: limits.stressPlacesMax)
        stressTick = .max
        updateNextDecision()
    }
}
