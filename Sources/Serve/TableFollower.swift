// The thread that follows the log: throttle, epoch and caps into the table, notices into the
// history.

import BrakeModel
import BrakeWire
package import EventLog
import HTTPServer
import Runtime

/// Follows from the table's beginning to its end, then live. While the log is away the last known
/// table stays; when it cannot be followed on, the table is built anew beside it.
package final class TableFollower {
    private static let waitMilliseconds = 250
    /// So many starts in a row without becoming live are no accident.
    private static let startsMax = 3
    /// How far back notices are read: those kept, with room for markers between them.
    private static let noticesBack = Int64(4 * RecentHistory.entriesMax)

    private let log: any EventLog
    private let table: ThrottleTable
    private let history: RecentHistory
    private let hub: StreamHub
    private let clock: LogClock
    private let logger: Logger
    private let metrics: ServeMetrics
    private let batch = LogBatch()
    private let documents = DocumentReader()
    /// What `step` follows.
    private var stepped: FollowSession?

    init(
        log: any EventLog, table: ThrottleTable, history: RecentHistory, hub: StreamHub,
        clock: LogClock, logger: Logger, metrics: ServeMetrics
    ) {
        self.log = log
        self.table = table
        self.history = history
        self.hub = hub
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    /// Follows until asked to stop; throws what no retry helps against.
    func run(stop: StopSignal) throws(LogFault) {
        var starts = 0
        while !stop.isRequested {
            starts += 1
            do throws(LogFault) {
                guard let session = try start(stop) else { return }
                defer { session.close() }
                try follow(session, stop) { starts = 0 }
            } catch {
                // The log may have forgotten what we had not read, or be another one by now.
                guard error.remedy == .stop || error.remedy == .refused,
                    starts < Self.startsMax
                else { throw error }
                metrics.restarted()
                logger.warning("building the table anew", ["fault": LogValue(error)])
                stop.wait(milliseconds: CoolDown.milliseconds.upperBound)
            }
        }
    }

    // MARK: Starting

    private func start(_ stop: StopSignal) throws(LogFault) -> FollowSession? {
        try retrying(stop) { () throws(LogFault) in try begin { stop.isRequested } }
    }

    private func begin(isStopped: () -> Bool) throws(LogFault) -> FollowSession {
        var bounds: [TopicPartition: Range<Int64>] = [:]
        for topic in [Topic.throttle, .stress, .epoch, .notice, .control] {
            for place in log.places(of: topic) { bounds[place] = try log.bounds(of: place) }
        }
        let epochs = bounds.filter { $0.key.topic == .epoch }
        let marks = try EpochTail(of: log).last(below: epochs, isStopped: isStopped)
        let session = try FollowSession(
            log, bounds: bounds, marks: marks, noticesBack: Self.noticesBack, metrics)
        history.forgetNotices()
        return session
    }

    /// One piece of the work, for those who drive it in their own thread: begins, or takes what
    /// waits. A fault ends the session, and the next step begins another.
    package func step() throws(LogFault) {
        guard let session = stepped else {
            stepped = try begin { false }
            return
        }
        do throws(LogFault) {
            _ = take(try session.reader.poll(into: batch, waitMilliseconds: 0), session)
        } catch {
            stepped = nil
            session.close()
            throw error
        }
    }

    // MARK: Following

    private func follow(
        _ session: FollowSession, _ stop: StopSignal, onLive: () -> Void
    ) throws(LogFault) {
        while !stop.isRequested {
            let batch = batch
            let outcome = try retrying(stop) { () throws(LogFault) in
                try session.reader.poll(into: batch, waitMilliseconds: Self.waitMilliseconds)
            }
            guard let outcome else { return }
            if take(outcome, session) { onLive() }
        }
    }

    /// Takes what a poll has brought; returns whether the session has become live by it.
    private func take(_ outcome: PollOutcome, _ session: FollowSession) -> Bool {
        var notices: [Notice] = []
        for record in batch.records {
            if record.topic == .notice {
                if let notice = read(record) { notices.append(notice) }
            } else {
                session.builder.apply(record)
            }
        }
        batch.reset()
        let wasLive = session.isLive
        if wasLive {
            let (changes, isTouched) = session.builder.settle()
            if isTouched { publish(session, changes) }
        } else {
            // Nobody sees the table yet, so what is read is put in place once, at the end.
            session.builder.forgetChanges()
            session.note(outcome)
            if session.waiting.isEmpty { table.takingOver { becomeLive(session) } }
        }
        if !notices.isEmpty {
            history.add(notices)
            hub.publish(notices)
        }
        return session.isLive && !wasLive
    }

    private func becomeLive(_ session: FollowSession) {
        session.isLive = true
        _ = session.builder.settle()
        let before = table.image
        // What a person gave may be of another log, whose revisions say nothing here.
        if before.source == .backup || before.source == .log {
            // A table that was read further than this log goes is of another one.
            if !before.position.isWithin(.zero(log.partitions), session.ends) {
                logger.warning(
                    "the log is another one, its states replace all others",
                    ["log": .text(log.place)])
            } else {
                session.builder.keepNewer(of: before.shards)
            }
        }
        let image = session.image(startedAt: before.startedAt)
        table.publish(image)
        table.version.pass()
        metrics.published(image)
        history.replaceChanges(by: image)
        hub.restart(at: session.position)
        let apps = image.shards.reduce(0) { $0 + $1.entries.count }
        logger.info("the table is complete", ["apps": LogValue(apps), "log": .text(log.place)])
    }

    private func publish(_ session: FollowSession, _ changes: [AppliedChange]) {
        let before = table.image
        let image = session.image(startedAt: before.startedAt)
        table.publish(image)
        guard !changes.isEmpty else { return }
        table.version.pass()
        metrics.published(image)
        let now = clock.now()
        for change in changes { metrics.delayed(milliseconds: now - change.append) }
        history.add(changes)
        hub.publish(changes, position: session.position)
    }

    private func read(_ record: LogRecord) -> Notice? {
        guard let value = unsafe record.value else {
            metrics.rejected(.notice, Rejection.empty.rawValue)
            return nil
        }
        do {
            let notice = unsafe try Notice.decode(value, with: documents)
            metrics.applied(.notice)
            return notice
        } catch {
            metrics.rejected(.notice, error.rawValue)
            return nil
        }
    }

    /// Repeats a call while the log may come back; nil when asked to stop meanwhile. An outage is
    /// told once, at its beginning and at its end.
    private func retrying<Value>(
        _ stop: StopSignal, _ body: () throws(LogFault) -> Value
    ) throws(LogFault) -> Value? {
        var coolDown = CoolDown()
        var isAway = false
        while true {
            do throws(LogFault) {
                let value = try body()
                if isAway { logger.info("the log answers again", ["log": .text(log.place)]) }
                return value
            } catch {
                guard error.remedy == .retry else { throw error }
                metrics.logFailed()
                if !isAway {
                    logger.warning(
                        "the log does not answer, serving what is known",
                        ["fault": LogValue(error)])
                }
                isAway = true
            }
            if stop.wait(milliseconds: coolDown.next()) { return nil }
        }
    }
}

/// The pauses between tries to reach a log: each twice as long as the last, up to a bound.
struct CoolDown {
    static let milliseconds = 50...2_000

    private var pause = CoolDown.milliseconds.lowerBound

    mutating func next() -> Int {
        defer { pause = min(2 * pause, Self.milliseconds.upperBound) }
        return pause
    }
}

/// One reading of the log, from the table's beginning on. One thread owns it.
final class FollowSession {
    let reader: any LogReader
    var builder: TableBuilder
    var isLive = false
    /// The partitions of which the end seen at the start has not been reached.
    private(set) var waiting: Set<TopicPartition>
    /// The ends of throttle seen at the start.
    let ends: StreamPosition
    private let bounds: [TopicPartition: Range<Int64>]

    init(
        _ log: any EventLog, bounds: [TopicPartition: Range<Int64>], marks: [Int: EpochMark],
        noticesBack: Int64, _ metrics: ServeMetrics
    ) throws(LogFault) {
        let partitions = log.partitions
        self.bounds = bounds
        builder = TableBuilder(
            shards: Array(repeating: TableShard(), count: partitions), metrics: metrics)
        for (partition, mark) in marks { builder.take(mark, partition: partition) }
        var starts: [TopicPartition: Int64] = [:]
        for (place, range) in bounds {
            switch place.topic {
            case .throttle, .stress, .control: starts[place] = range.lowerBound
            case .notice: starts[place] = max(range.lowerBound, range.upperBound - noticesBack)
            default: starts[place] = range.upperBound
            }
        }
        waiting = Set(bounds.keys.filter { $0.topic != .notice })
        ends = StreamPosition(
            offsets: (0..<partitions).map {
                bounds[TopicPartition(.throttle, $0)]?.upperBound ?? 0
            })
        reader = try log.makeReader(from: starts)
    }

    /// Where it has read throttle up to.
    var position: StreamPosition {
        let positions = reader.positions
        return StreamPosition(
            offsets: ends.offsets.indices.map { positions[TopicPartition(.throttle, $0)] ?? 0 })
    }

    func image(startedAt: Int64) -> TableImage {
        TableImage(
            shards: builder.shards, caps: builder.caps, source: .log, position: position,
            startedAt: startedAt)
    }

    /// Crosses off the partitions whose end has been reached. Offsets have gaps, so an end is
    /// reached by position or by the log's word, never by a record that stands right before it.
    func note(_ outcome: PollOutcome) {
        let positions = reader.positions
        waiting = waiting.filter { place in
            let end = bounds[place]?.upperBound ?? 0
            return !outcome.ended.contains(place) && (positions[place] ?? 0) < end
        }
    }

    func close() { reader.close() }
}
