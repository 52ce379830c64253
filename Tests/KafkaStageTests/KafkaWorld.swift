// Lanes over a log on Kafka, in this thread and in real time, what they get to count, and what
// must hold of what they have published.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Foundation
import KafkaLog
import KafkaTestSupport
import Runtime
import Testing

/// All tests of stages on Kafka.
@Suite("Stages on Kafka", .needsKafkaStages)
struct KafkaStageTests {}

/// Everything that lanes need.
final class KafkaWorld {
    let log: any EventLog
    let told = CapturedLog()
    let metrics = Metrics()
    var settings = EvaluateSettings(policy: .quick)
    private let evaluateMetrics: EvaluateMetrics

    init(_ log: any EventLog) {
        self.log = log
        settings.idleLagMilliseconds = 100
        settings.snapshotMilliseconds = 1_000
        settings.heartbeatMilliseconds = 500
        evaluateMetrics = EvaluateMetrics(metrics)
    }

    /// A lane of this log, or of one that stands between.
    func makeLane(_ number: Int = 0, on other: (any EventLog)? = nil) -> EvaluatorLane {
        EvaluatorLane(
            log: other ?? log, lane: number, settings: settings,
            logger: Logger(part: "evaluate", to: told), metrics: evaluateMetrics)
    }

    /// Steps the lanes until the condition holds.
    func run(
        _ lanes: EvaluatorLane..., until what: @autoclosure () -> String,
        _ isSo: () throws -> Bool
    ) throws {
        _ = try eventually(what()) { () -> Bool? in
            for lane in lanes { try step(lane) }
            return try isSo() ? true : nil
        }
    }

    /// One step; what the log gives back to be tried again is tried again.
    func step(_ lane: EvaluatorLane, waitMilliseconds: Int = 10) throws {
        do throws(LogFault) {
            try lane.step(waitMilliseconds: waitMilliseconds)
        } catch {
            guard error.remedy == .retry else { throw error }
        }
    }

    /// Steps the lanes for a while.
    func run(_ lanes: EvaluatorLane..., milliseconds: Int64) throws {
        let end = LogClock.steady.now() + milliseconds
        while LogClock.steady.now() < end {
            for lane in lanes { try step(lane) }
        }
    }

    /// Leaves as a process does that is asked to stop.
    func leave(_ lane: EvaluatorLane) throws {
        _ = try eventually("the lane's last commit") { () -> Bool? in
            do throws(LogFault) {
                try lane.leave()
                return true
            } catch {
                guard error.remedy == .retry else { throw error }
                return nil
            }
        }
        lane.close()
    }

    // MARK: What apps report

    func append(_ type: EventType, app: String, _ values: [String]) throws {
        let value = values.count == 1 ? values[0] : "[\(values.joined(separator: ","))]"
        try append(type, app: app, bytes: Array(value.utf8))
    }

    func append(_ type: EventType, app: String, bytes: [UInt8]?) throws {
        try log.append([record(type, app: app, bytes: bytes)])
    }

    func record(_ type: EventType, app: String, bytes: [UInt8]?) -> OutgoingRecord {
        OutgoingRecord(
            Topic(type), partition: home(app), key: Array(app.utf8), value: bytes)
    }

    /// Sessions with these numbers that began so long ago.
    func start(_ app: String, _ sessions: Range<Int>, ago: Int64 = 0) throws {
        try append(.session, app: app, sessions.map { session(app, $0, ago: ago) })
    }

    /// Crashes of sessions with these numbers, each on a device of its own.
    func crash(_ app: String, _ sessions: Range<Int>, ago: Int64 = 0) throws {
        try append(.crash, app: app, sessions.map { crash(app, $0, ago: ago) })
    }

    func session(_ app: String, _ number: Int, ago: Int64 = 0) -> String {
        #"{"type":"session","app":"\#(app)","session":"s\#(number)"\#(times(ago))}"#
    }

    func crash(_ app: String, _ number: Int, ago: Int64 = 0) -> String {
        #"{"type":"crash","app":"\#(app)","session":"s\#(number)","id":"c\#(number)","#
            + #""device":"d\#(number)"\#(times(ago))}"#
    }

    private func times(_ ago: Int64) -> String {
        let now = LogClock.wall.now()
        return #","at":\#(now - ago),"sent":\#(now)"#
    }

    func home(_ app: String) -> Int {
        Partitioner.partition(of: app.utf8, partitions: log.partitions)
    }

    /// A name of an app that lives in this partition.
    func app(in partition: Int) -> String {
        (0...).lazy.map { "app-\($0)" }.first { home($0) == partition } ?? ""
    }

    // MARK: What the log has

    /// The values of all committed records of a place, with offsets and append times.
    func records(
        _ place: TopicPartition
    ) throws -> [(offset: Int64, append: Int64, value: [UInt8])] {
        let reader = try log.makeReader(from: [place: try log.bounds(of: place).lowerBound])
        defer { reader.close() }
        let batch = LogBatch()
        var records: [(offset: Int64, append: Int64, value: [UInt8])] = []
        return try eventually("the end of \(place)") {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 20)
            for record in batch.records {
                let value = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                records.append((record.offset, record.append, value))
            }
            return outcome.ended.contains(place) ? records : nil
        }
    }

    func throttle(_ partition: Int) throws -> [ThrottleRecord] {
        unsafe try decoded(.throttle, partition) { unsafe try ThrottleRecord.decode($0, with: $1) }
    }

    func epochs(_ partition: Int) throws -> [EpochRecord] {
        unsafe try decoded(.epoch, partition) { unsafe try EpochRecord.decode($0, with: $1) }
    }

    private func decoded<Record>(
        _ topic: Topic, _ partition: Int,
        _ decode: (UnsafeRawBufferPointer, DocumentReader) throws -> Record
    ) throws -> [Record] {
        let reader = DocumentReader()
        return try records(TopicPartition(topic, partition)).map { record in
            try unsafe record.value.withUnsafeBytes { unsafe try decode($0, reader) }
        }
    }

    /// The states that an app has gone through.
    func story(_ app: String) throws -> [String] {
        try throttle(home(app)).filter { $0.change.app.text == app }.map { $0.change.state.name }
    }

    /// Whether the last epoch of the partition ends where its inputs do.
    func isCounted(_ partition: Int) throws -> Bool {
        guard let last = try epochs(partition).last else { return false }
        return try EventType.allCases.allSatisfy {
            try log.bounds(of: TopicPartition(Topic($0), partition)).upperBound == last.offsets[$0]
        }
    }

    /// Checks that epochs have no gap, that revisions rise by one, and that the log, replayed epoch
    /// by epoch by an evaluator of its own, gives what was published, byte by byte.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        var records: [ThrottleRecord] = []
        for partition in 0..<log.partitions {
            let numbers = try epochs(partition).map(\.number)
            #expect(
                numbers == Array(1..<Int64(numbers.count + 1)), "partition \(partition)",
                sourceLocation: sourceLocation)
            let changes = try throttle(partition)
            var last: [AppID: Int64] = [:]
            for change in changes.map(\.change) {
                #expect(
                    change.revision == (last[change.app] ?? 0) + 1, sourceLocation: sourceLocation)
                last[change.app] = change.revision
            }
            records += changes
        }
        records.sort { ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app) }
        let published = records.map { String(decoding: $0.encode(), as: UTF8.self) + "\n" }.joined()
        let replay = LogReplay(log: log, policy: settings.policy, limits: settings.limits)
        let again = String(decoding: try replay.run().output, as: UTF8.self)
        #expect(again == published, sourceLocation: sourceLocation)
    }

    /// The value of a metric's series, 0 when there is none.
    func metric(_ series: String) -> Double {
        let line = metrics.rendered().split(separator: "\n").first { $0.hasPrefix(series + " ") }
        return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }
}

extension Policy {
    /// Brakes at once, and eases a second after its minute is clean, with or without sessions.
    static let quick = Policy(
        name: "quick", version: 1, tickMilliseconds: 500, counting: .sessions, initial: .normal,
        initialHoldSeconds: 0, entry: .jump, confidence: nil,
        rules: [
            Rule(
                name: "minute", state: .throttle, window: .minute,
                condition: .crashFreeBelow(0.9), minSessions: 5, minDevices: 2)
        ],
        caution: Level(dwellSeconds: 1), throttle: Level(dwellSeconds: 1), halt: Level(),
        relapseSeconds: 0, dwellMaxSeconds: 0, silence: nil, launch: nil)
}

/// The fault that the body throws.
func fault(_ body: () throws -> Void) throws -> LogFault {
    do {
        try body()
    } catch let fault as LogFault {
        return fault
    }
    throw NoFault()
}

struct NoFault: Error {}
