// A log in memory, its time, and lanes that are stepped by hand.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

/// Everything a lane needs, in one thread.
final class LaneWorld {
    static let beginning = SimulatedTime.beginning

    let time = SimulatedTime()
    let memory: MemoryLog
    let log: SteeredLog
    let told = CapturedLog()
    let metrics = Metrics()
    var settings: EvaluateSettings
    private let evaluateMetrics: EvaluateMetrics

    init(partitions: Int = 1, policy: Policy = .brisk, seed: UInt64 = 0) {
        memory = MemoryLog(partitions: partitions, clock: time.logClock)
        log = SteeredLog(memory, Steering(seed: seed))
        settings = EvaluateSettings(policy: policy)
        evaluateMetrics = EvaluateMetrics(metrics)
    }

    func makeLane(_ number: Int = 0) -> EvaluatorLane {
        EvaluatorLane(
            log: log, lane: number, settings: settings,
            logger: Logger(part: "evaluate", to: told), metrics: evaluateMetrics,
            clocks: time.clocks)
    }

    /// Steps until the lane has settled its assignment and read what waits.
    func settle(_ lanes: EvaluatorLane..., steps: Int = 24) throws {
        for _ in 0..<steps {
            for lane in lanes { try lane.step(waitMilliseconds: 0) }
        }
    }

    /// Lets time pass in pieces, with a step of every lane after each.
    func run(_ lanes: EvaluatorLane..., for milliseconds: Int64, piece: Int64 = 100) throws {
        let end = time.steady + milliseconds
        while time.steady < end {
            time.pass(min(piece, end - time.steady))
            for lane in lanes { try lane.step(waitMilliseconds: 0) }
        }
    }

    // MARK: What apps report

    func append(_ type: EventType, app: String, _ values: [String]) throws {
        let value = values.count == 1 ? values[0] : "[\(values.joined(separator: ","))]"
        try append(type, key: Array(app.utf8), value: Array(value.utf8))
    }

    func append(_ type: EventType, key: [UInt8]?, value: [UInt8]?, partition: Int? = nil) throws {
        let home = Partitioner.partition(of: key ?? [], partitions: memory.partitions)
        try memory.append([
            OutgoingRecord(
                Topic(type), partition: partition ?? home, key: key,
                value: value)
        ])
    }

    /// Starts of sessions with these numbers.
    func start(_ app: String, _ sessions: Range<Int>) throws {
        try append(
            .session, app: app,
            sessions.map { #"{"type":"session","app":"\#(app)","session":"s\#($0)"}"# })
    }

    /// Crashes of sessions with these numbers, each on a device of its own.
    func crash(_ app: String, _ sessions: Range<Int>) throws {
        try append(
            .crash, app: app,
            sessions.map {
                #"{"type":"crash","app":"\#(app)","session":"s\#($0)","id":"c\#($0)","#
                    + #""device":"d\#($0)"}"#
            })
    }

    // MARK: What the log has

    /// The value of every record of a topic's partition, with its offset.
    func values(_ topic: Topic, _ partition: Int = 0) throws -> [(offset: Int64, value: [UInt8])] {
        let place = TopicPartition(topic, partition)
        let reader = memory.makeReader(from: [place: memory.bounds(of: place).lowerBound])
        defer { reader.close() }
        let batch = LogBatch()
        var values: [(offset: Int64, value: [UInt8])] = []
        while true {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 0)
            for record in batch.records {
                values.append((record.offset, unsafe record.value.map { unsafe [UInt8]($0) } ?? []))
            }
            if outcome.ended.contains(place) { return values }
        }
    }

    func throttle(_ partition: Int = 0) throws -> [ThrottleRecord] {
        unsafe try decoded(.throttle, partition) { unsafe try ThrottleRecord.decode($0, with: $1) }
    }

    func epochs(_ partition: Int = 0) throws -> [EpochRecord] {
        unsafe try decoded(.epoch, partition) { unsafe try EpochRecord.decode($0, with: $1) }
    }

    func dead() throws -> [String] {
        try values(.dead).map { String(decoding: $0.value, as: UTF8.self) }
    }

    private func decoded<Record>(
        _ topic: Topic, _ partition: Int,
        _ decode: (UnsafeRawBufferPointer, DocumentReader) throws -> Record
    ) throws -> [Record] {
        let reader = DocumentReader()
        return try values(topic, partition).map { _, value in
            try unsafe value.withUnsafeBytes { unsafe try decode($0, reader) }
        }
    }

    /// The states of an app with the seconds since the beginning at which they began.
    func story(_ app: String) throws -> [String] {
        let partition = Partitioner.partition(of: app.utf8, partitions: memory.partitions)
        return try throttle(partition).filter { $0.change.app.text == app }.map { record in
            let since = record.change.since - Self.beginning
            return "\(record.change.revision) \(record.change.state.name) \(since / 1_000)"
                + (since % 1_000 == 0 ? "" : ".\(since % 1_000)")
        }
    }

    /// All throttle records as they were published, in order of tick, then app.
    func published() throws -> String {
        var records: [ThrottleRecord] = []
        for partition in 0..<memory.partitions { records += try throttle(partition) }
        records.sort { ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app) }
        return records.map { String(decoding: $0.encode(), as: UTF8.self) + "\n" }.joined()
    }

    /// Checks that the log, replayed epoch by epoch, gives what was published, and that epochs have
    /// no gap.
    func checkReplay(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let replay = LogReplay(
            log: memory, policy: settings.policy, limits: settings.limits)
        let again = String(decoding: try replay.run().output, as: UTF8.self)
        #expect(again == (try published()), sourceLocation: sourceLocation)
        for partition in 0..<memory.partitions {
            let numbers = try epochs(partition).map(\.number)
            #expect(
                numbers == Array(1..<Int64(numbers.count + 1)), "partition \(partition)",
                sourceLocation: sourceLocation)
        }
    }
}
