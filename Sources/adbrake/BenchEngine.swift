// `adbrake bench engine`: how fast decoded events are counted and decided, and what an app costs.

import BrakeEngine
import BrakeModel
import Glibc
import Runtime

/// Measures the evaluator alone, on one thread, with events decoded beforehand.
struct BenchEngine {
    /// One measurement: so many apps, touched at random or each in its turn.
    private struct Load {
        var name: String
        var apps: Int
        var events: Int
        /// Events a second of log time.
        var rate: Int
        var inTurn = false
    }

    private static let batchEvents = 4_096
    private static let runs = 5
    /// Events of each app before a snapshot is measured.
    private static let snapshotRounds = 60
    private let policy: Policy

    init(policy: Policy) { self.policy = policy }

    func run() {
        print(
            "engine: policy \(policy.name), one thread, events per second of its CPU time, "
                + "median of \(Self.runs) runs")
        // First, while no memory given back by others is there to be used again.
        measureMemory(
            Load(
                name: "memory", apps: 20_000, events: 7_400_000, rate: 2_000, inTurn: true))
        for load in [
            Load(name: "1 000 apps", apps: 1_000, events: 8_000_000, rate: 200_000),
            Load(name: "100 000 apps", apps: 100_000, events: 8_000_000, rate: 500_000),
            Load(name: "1 000 000 apps", apps: 1_000_000, events: 8_000_000, rate: 500_000),
        ] {
            measureSpeed(load)
        }
    }

    /// The state of a partition of a million apps in four: how large it is as bytes, how long it
    /// takes to write them, during which nothing is decided, and to read them.
    func runSnapshot() {
        let load = Load(name: "", apps: 250_000, events: 250_000, rate: 25_000, inTurn: true)
        var evaluator = makeEvaluator(load)
        var decisions = Decisions()
        var start: Int64 = 1_700_000_000_000
        for round in 0..<Self.snapshotRounds {
            for batch in makeBatches(load, seed: UInt64(round), start: start) {
                evaluator.apply(batch, into: &decisions)
                decisions.removeAll()
            }
            start = evaluator.clock
        }
        var (writing, reading): ([Int64], [Int64]) = ([], [])
        var bytes = 0
        for _ in 0..<Self.runs {
            var begun = threadNanoseconds()
            let image = evaluator.snapshot()
            writing.append((threadNanoseconds() - begun) / 1_000_000)
            bytes = image.count
            begun = threadNanoseconds()
            do {
                let restored = try Evaluator(
                    restoring: image, controls: Controls(policies: [policy]),
                    limits: EvaluatorLimits(appsMax: load.apps))
                reading.append((threadNanoseconds() - begun) / 1_000_000)
                precondition(restored.checksum == evaluator.checksum, "it is the same")
            } catch {
                preconditionFailure("a snapshot can be restored: \(error)")
            }
        }
        print(
            "snapshot: \(load.apps) apps, each with an event every 10 s for ten minutes: "
                + "\(bytes / load.apps) bytes an app, \(writing.sorted()[Self.runs / 2]) ms to take, "
                + "\(reading.sorted()[Self.runs / 2]) ms to restore, of one thread, "
                + "medians of \(Self.runs) runs")
    }

    private func measureSpeed(_ load: Load) {
        let first = makeBatches(
            Load(name: "", apps: load.apps, events: load.apps, rate: load.rate, inTurn: true),
            seed: 1, start: 1_700_000_000_000)
        let start = first.last?.events.last?.append ?? 0
        let batches = makeBatches(load, seed: 2, start: start)
        var rates: [Double] = []
        var looks: Int64 = 0
        for _ in 0..<Self.runs {
            var evaluator = makeEvaluator(load)
            var decisions = Decisions()
            for batch in first { evaluator.apply(batch, into: &decisions) }
            let begun = threadNanoseconds()
            for batch in batches {
                evaluator.apply(batch, into: &decisions)
                decisions.removeAll()
            }
            let seconds = Double(threadNanoseconds() - begun) / 1e9
            rates.append(Double(load.events) / seconds)
            looks = evaluator.tallies.looks
        }
        rates.sort()
        print(
            "  \(load.name) at random: \(millions(rates[Self.runs / 2])) M events/s "
                + "(min \(millions(rates[0])), max \(millions(rates[Self.runs - 1]))), "
                + "\(looks) looks at apps")
    }

    private func measureMemory(_ load: Load) {
        let batches = makeBatches(load, seed: 3, start: 1_700_000_000_000)
        let before = residentBytes()
        var evaluator = makeEvaluator(load)
        var decisions = Decisions()
        for batch in batches {
            evaluator.apply(batch, into: &decisions)
            decisions.removeAll()
        }
        // The events stay in memory for both readings.
        let resident = withExtendedLifetime(batches) { residentBytes() } - before
        let apps = evaluator.appCount
        print(
            "  \(load.apps) apps, each with an event every 10 s for an hour: "
                + "\(evaluator.appByteCount / apps) bytes an app, and \(evaluator.idByteCount / apps) "
                + "of remembered ids; \(resident / apps) bytes in all resident, with what the "
                + "allocator keeps (\(evaluator.tallies.events) events)")
    }

    private func makeEvaluator(_ load: Load) -> Evaluator {
        Evaluator(policy: policy, limits: EvaluatorLimits(appsMax: load.apps))
    }

    /// 80 in 100 are ad events, a quarter of them impressions; 3 soft errors; the rest sessions, of
    /// which every second shows a sign of life, and some crashes.
    private func makeBatches(_ load: Load, seed: UInt64, start: Int64) -> [EventBatch] {
        var random = SeededGenerator(seed: seed)
        let ids = (0..<load.apps).map { AppID("app-\(1_000_000 + $0)") }
        var batches: [EventBatch] = []
        var batch = EventBatch(capacity: Self.batchEvents)
        for index in 0..<load.events {
            let chosen = load.inTurn ? index % load.apps : Int(random.next() % UInt64(load.apps))
            guard let app = ids[chosen] else { continue }
            let event = makeEvent(
                append: start + Int64(index) * 1_000 / Int64(load.rate), random: &random)
            batch.add(event, app: app)
            if batch.events.count == Self.batchEvents || index == load.events - 1 {
                batches.append(batch)
                batch = EventBatch(capacity: Self.batchEvents)
            }
        }
        return batches
    }

    private func makeEvent(append: Int64, random: inout SeededGenerator) -> Event {
        let draw = random.next() % 10_000
        let meaning: EventMeaning =
            switch draw {
            case ..<2_000: .impression
            case ..<8_000: .nothing
            case ..<8_300: .softError
            case ..<8_301: .crash
            case ..<9_150: .alive
            default: .start
            }
        return Event(
            appHash: 0, meaning: meaning, append: append, at: append - 500,
            idHash: random.next() | 1, sessionHash: random.next() | 1,
            deviceHash: random.next() | 1)
    }

    /// The CPU time of this thread: other work on the machine does not count.
    private func threadNanoseconds() -> Int64 {
        var time = timespec()
        // The pointer lives for the call only; this clock always exists on Linux.
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func millions(_ rate: Double) -> String {
        let hundredths = Int((rate / 10_000).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }

    /// The memory of this process that is in RAM, from the kernel's account.
    private func residentBytes() -> Int {
        guard let file = unsafe fopen("/proc/self/statm", "r") else { return 0 }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard unsafe fgets(&line, 128, file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
    }
}
