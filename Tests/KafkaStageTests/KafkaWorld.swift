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
import LogTestSupport
import Runtime
import Testing

/// All tests of stages on Kafka.
@Suite("Stages on Kafka")
struct KafkaStageTests {}

/// Everything that lanes need.
final class KafkaWorld {
    let log: any EventLog
    let told = CapturedLog()
    let metrics = Metrics()
    var settings = EvaluateSettings(policy: .quick)
    private let evaluateMetrics: EvaluateMetrics
    private let published: PublishedLog

    init(_ log: any EventLog) {
        self.log = log
        published = PublishedLog(log)
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

    func records(_ place: TopicPartition) throws -> [PublishedRecord] {
        try published.records(place)
    }

    func throttle(_ partition: Int) throws -> [ThrottleRecord] {
        try published.throttle(partition)
    }

    func epochs(_ partition: Int) throws -> [EpochRecord] { try published.epochs(partition) }

    /// The states that an app has gone through.
    func story(_ app: String) throws -> [String] {
        try throttle(home(app)).filter { $0.change.app.text == app }.map { $0.change.state.name }
    }

    /// Whether the last epoch of the partition ends where its inputs do.
    func isCounted(_ partition: Int) throws -> Bool { try published.isCounted(partition) }

    /// Checks that epochs have no gap, that revisions rise by one, and that the log, replayed epoch
    /// by epoch by an evaluator of its own, gives what was published, byte by byte.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for partition in 0..<log.partitions {
            let numbers = try epochs(partition).map(\.number)
            #expect(
                numbers == Array(1..<Int64(numbers.count + 1)), "partition \(partition)",
                sourceLocation: sourceLocation)
            var last: [AppID: Int64] = [:]
            for change in try throttle(partition).map(\.change) {
                #expect(
                    change.revision == (last[change.app] ?? 0) + 1, sourceLocation: sourceLocation)
                last[change.app] = change.revision
            }
        }
        #expect(try replay(log) == decisions(), sourceLocation: sourceLocation)
    }

    /// All throttle records as they were published, in order of tick, then app.
    func decisions() throws -> String {
        try (0..<log.partitions).flatMap { try throttle($0) }
            .sorted { ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app) }
            .map { String(decoding: $0.encode(), as: UTF8.self) + "\n" }.joined()
    }

    /// What an evaluator of its own decides over this log, or one that stands between.
    func replay(_ log: any EventLog) throws -> String {
        let replay = LogReplay(log: log, policy: settings.policy, limits: settings.limits)
        return String(decoding: try replay.run().output, as: UTF8.self)
    }

    /// The value of a metric's series, 0 when there is none.
    func metric(_ series: String) -> Double {
        let line = metrics.rendered().split(separator: "\n").first { $0.hasPrefix(series + " ") }
        return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }
}
