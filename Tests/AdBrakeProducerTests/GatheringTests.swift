// Ad events gathered into one with a count are in every window exactly what they were each alone.
import BrakeModel
import BrakeWire
import Testing

@testable import AdBrakeProducer
@testable import BrakeEngine

@Suite struct GatheringTests {
    private static let start: Int64 = 1_700_000_000_000

    private static func report(around time: Int64, _ random: inout SeededGenerator) throws -> Report
    {
        let app = try #require(AppID(random.pick(["hot", "hot", "hot", "warm", "cold"])))
        let context = ReportContext(
            app: app, id: "\(random.next())", session: "s\(random.next() % 100)",
            device: "d\(random.next() % 100)",
            at: time + Int64(random.next() % 4_000) - 3_000, os: random.pick([nil, "iOS 18"]))
        return .ad(
            AdReport(
                context, event: random.pick([.shown, .shown, .shown, .loadFailed, .clicked]),
                unit: random.pick(["banner", "interstitial"]),
                errorCode: random.pick([nil, nil, "1", "no_fill"])))
    }

    private static func decode(_ values: [[UInt8]], append: Int64) -> EventBatch {
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        let decoder = EventDecoder()
        for value in values {
            unsafe value.withUnsafeBytes { bytes in
                unsafe decoder.decode(bytes, append: append, into: &batch, rejected: &rejected)
            }
        }
        #expect(rejected.isEmpty)
        return batch
    }

    /// The counts of ads in every window of every app.
    private static func windows(_ evaluator: inout Evaluator) -> [[Int]] {
        let head = Panes.headSecond(at: evaluator.clock - 1)
        var all: [[Int]] = []
        for slot in 0..<UInt32(evaluator.appCount) {
            var counts: [Int] = []
            for metric in [Metric.impressions, .adFailures] {
                evaluator.rows.slide(&evaluator.apps.slots[slot].rows[metric.rawValue], to: head)
                let row = evaluator.apps.slots[slot][metric]
                for window in 0..<Panes.windows {
                    counts.append(evaluator.rows.sum(row, window: window))
                }
            }
            all.append(counts)
        }
        return all
    }

    @Test(arguments: 1...12)
    func `windows hold the same, whatever is gathered`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var settings = ProducerSettings()
        settings.aggregation = .above(eventsPerSecond: seed % 3 * 50)
        var buffer = BatchBuffer(settings)
        var alone = Evaluator(policy: BuiltInPolicies.default)
        var gathered = Evaluator(policy: BuiltInPolicies.default)
        var decisions = Decisions()
        var time = Self.start
        var sent = 0
        var records = 0
        for _ in 0..<12 {
            time += Int64(random.next() % 90_000)
            // So many that they outgrow counters of one byte and of two.
            let count = Int(random.next() % (seed == 12 ? 12_000 : 1_200))
            let reports = try (0..<count).map { _ in try Self.report(around: time, &random) }
            for report in reports { _ = buffer.add(report, try report.encode(), now: time) }
            let due = buffer.takeDue(now: time, all: true)
            sent += count
            records += due.reduce(0) { $0 + $1.record.count }
            buffer.release(due.reduce(0) { $0 + $1.bytes })
            let append = time + Int64(random.next() % 3_000) - 1_500
            let one = Self.decode(try reports.map { try $0.encode() }, append: append)
            alone.apply(one, into: &decisions)
            gathered.apply(
                Self.decode(due.map(\.record.value), append: append), into: &decisions)
            for clock in [append + 1, append + 700, append + 61_000] {
                alone.advance(to: clock, into: &decisions)
                gathered.advance(to: clock, into: &decisions)
                // Apps are known in the order of their first events, which may differ.
                let counts = (Self.windows(&alone), Self.windows(&gathered))
                let isSame = Self.sorted(counts.0) == Self.sorted(counts.1)
                #expect(isSame, "seed \(seed), clock \(clock): \(counts)")
            }
            time = append + 61_000
        }
        #expect(buffer.isEmpty && buffer.bytes == 0)
        #expect(records < sent, "seed \(seed): nothing was gathered")
    }

    private static func sorted(_ windows: [[Int]]) -> [[Int]] {
        windows.sorted { $0.lexicographicallyPrecedes($1) }
    }

    @Test func `one with a count adds what so many would, up to the last that fits`() {
        var one = RowPool()
        var many = RowPool()
        var (a, b) = (RowReference.none, RowReference.none)
        for count: UInt32 in [1, 200, 54, 1, 255, 65_000, 300, 70_000] {
            for _ in 0..<count { _ = one.add(to: &a, at: 9_000, head: 9_000) }
            #expect(many.add(count, to: &b, at: 9_000, head: 9_000) == 0)
            for window in 0..<Panes.windows {
                #expect(one.sum(a, window: window) == many.sum(b, window: window))
            }
            #expect(a.width == b.width)
        }
        // The hour's sum is full then: what was in it already is what does not fit any more.
        let before = UInt32(many.sum(b, window: 2))
        #expect(many.add(.max, to: &b, at: 9_001, head: 9_001) == before)
        #expect(many.sum(b, window: 2) == Int(UInt32.max))
    }

    @Test func `what differs in more than who saw it is not gathered`() throws {
        var settings = ProducerSettings()
        settings.aggregation = .above(eventsPerSecond: 0)
        var buffer = BatchBuffer(settings)
        let app = try #require(AppID("app"))
        func add(_ change: (inout AdReport) -> Void) throws {
            var ad = AdReport(ReportContext(app: app, id: "i", at: Self.start + 7), event: .shown)
            change(&ad)
            _ = buffer.add(.ad(ad), try Report.ad(ad).encode(), now: Self.start)
        }
        try add { _ in }
        try add { $0.context.at = Self.start + 99 }
        try add { $0.context.at = Self.start + 100 }
        try add { $0.unit = "u" }
        try add { $0.context.sent = Self.start + 8 }
        try add { $0.dismissDelayMilliseconds = 3 }
        let records = buffer.takeDue(now: Self.start, all: true)
        let head = #"{"type":"ad_event","id":"i","app":"app","event":"shown","#
        let gathered = #"{"type":"ad_event","app":"app","event":"shown","#
        #expect(
            records.map { String(decoding: $0.record.value, as: UTF8.self) } == [
                "[" + head + #""at":1700000000007,"sent":1700000000008},"#
                    + head + #""dismiss_delay_ms":3,"at":1700000000007},"#
                    + gathered + #""at":1700000000000,"count":2},"#
                    + gathered + #""at":1700000000100},"#
                    + gathered + #""unit":"u","at":1700000000000}]"#
            ])
    }
}

extension SeededGenerator {
    fileprivate mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(next() % UInt64(values.count))]
    }
}
