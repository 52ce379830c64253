// Lanes over one log in memory: what they do when partitions change hands.
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Testing

@Suite("Evaluator lanes")
struct EvaluatorLaneTests {
    private static let patienceMilliseconds: Int64 = 60_000

    @Test("give partitions to a lane that joins later, and all partitions go on")
    func joinLater() throws {
        let log = MemoryLog(partitions: 4)
        let stop = StopSignal()
        stop.whenRequested { log.interrupt() }
        defer { stop.request(reason: "the test ends") }
        let epochs = EpochFollower(log)
        defer { epochs.close() }
        let first = try start(lane: 0, log, stop)
        let begun = try epochs.next { $0.count == 4 }
        let generation = try #require(begun.values.map(\.generation).max())
        let second = try start(lane: 1, log, stop)
        let shared = try epochs.next { last in
            [2, 3].allSatisfy { last[$0]?.generation ?? 0 > generation }
        }
        // Both go on: all partitions get epochs after the one that shows the change of hands.
        _ = try epochs.next { last in
            (0..<4).allSatisfy { last[$0]?.number ?? 0 > shared[$0]?.number ?? 0 }
        }
        stop.request(reason: "the test has seen it")
        first.join()
        second.join()
    }

    private func start(
        lane: Int, _ log: MemoryLog, _ stop: StopSignal
    ) throws -> WorkerThread {
        let policy = try #require(BuiltInPolicies.policy(named: "default"))
        var settings = EvaluateSettings(policy: policy)
        settings.heartbeatMilliseconds = 50
        let fixed = settings
        return WorkerThread(name: "lane \(lane)") {
            let logger = Logger(part: "test", to: CapturedLog())
            let evaluator = EvaluatorLane(
                log: log, lane: lane, settings: fixed, logger: logger,
                metrics: EvaluateMetrics(Metrics()))
            do {
                try evaluator.run(stop: stop)
            } catch {
                Issue.record("lane \(lane): \(error)")
            }
        }
    }

    /// The last epoch of each partition, as they come.
    private final class EpochFollower {
        private let log: MemoryLog
        private let reader: any LogReader
        private let batch = LogBatch()
        private let documents = DocumentReader()
        private var last: [Int: EpochRecord] = [:]

        init(_ log: MemoryLog) {
            self.log = log
            let places = log.places(of: .epoch).map { ($0, Int64(0)) }
            reader = log.makeReader(from: Dictionary(uniqueKeysWithValues: places))
        }

        func next(until isThere: ([Int: EpochRecord]) -> Bool) throws -> [Int: EpochRecord] {
            let end = SystemClock.monotonicMilliseconds() + patienceMilliseconds
            while !isThere(last) {
                try #require(SystemClock.monotonicMilliseconds() < end, "the last are \(last)")
                _ = try reader.poll(into: batch, waitMilliseconds: 100)
                for index in batch.records.indices {
                    guard let value = unsafe batch.records[index].value else { continue }
                    let epoch = unsafe try EpochRecord.decode(value, with: documents)
                    last[epoch.partition] = epoch
                }
            }
            return last
        }

        func close() { reader.close() }
    }
}
