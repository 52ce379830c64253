// The states of a few apps as the log has them: the throttle table from its beginning, then live.

import BrakeModel
import BrakeWire
import EventLog

/// Follows the table on behalf of one thread.
final class FollowedStates {
    /// So many sessions in a row without reaching the table's end are no accident.
    private static let startsMax = 3

    private struct Known {
        var state: ThrottleState
        var revision: Int64
        var epoch: Int64
    }

    /// When a partition's evaluator was last heard of.
    private struct Heard {
        var generation: Int64
        var at: Int64
    }

    private let log: any EventLog
    private let apps: Set<AppID>
    private let startedAt: Int64
    private let batch = LogBatch()
    private let documents = DocumentReader()
    private var reader: (any LogReader)?
    private var ends: [TopicPartition: Int64] = [:]
    /// Partitions whose end at the start has not been reached.
    private var waiting: Set<TopicPartition> = []
    private var known: [AppID: Known] = [:]
    private var heard: [Int: Heard] = [:]
    private var starts = 0

    /// `now`: ms since 1970.
    init(_ log: any EventLog, apps: Set<AppID>, now: Int64) {
        self.log = log
        self.apps = apps
        startedAt = now
    }

    /// Whether the table has been read to the end that it had at the start.
    var isComplete: Bool { reader != nil && waiting.isEmpty }

    /// What holds for an app, as an edge would serve it: Caution while it is not known, and at
    /// least that once the evaluator has not been heard of for too long.
    func state(of app: AppID, now: Int64, validityMilliseconds: Int64) -> ThrottleState {
        guard let known = known[app] else { return .caution }
        let home = Partitioner.partition(of: app.text.utf8, partitions: log.partitions)
        let age = now - (heard[home]?.at ?? startedAt)
        return age > validityMilliseconds ? max(known.state, .caution) : known.state
    }

    /// Takes what waits, or waits for it. What cannot be followed on is read anew, a few times.
    func poll(waitMilliseconds: Int) throws(LogFault) {
        do throws(LogFault) {
            let reader = try opened()
            let outcome = try reader.poll(into: batch, waitMilliseconds: waitMilliseconds)
            for record in batch.records { take(record) }
            batch.reset()
            let positions = reader.positions
            waiting = waiting.filter { place in
                !outcome.ended.contains(place) && (positions[place] ?? 0) < (ends[place] ?? 0)
            }
            if waiting.isEmpty { starts = 0 }
        } catch {
            guard error.remedy != .retry else { throw error }
            close()
            guard starts < Self.startsMax else { throw error }
        }
    }

    func close() {
        reader?.close()
        reader = nil
    }

    /// The reader; a new one, from the table's beginning, when there is none.
    private func opened() throws(LogFault) -> any LogReader {
        if let reader { return reader }
        starts += 1
        var positions: [TopicPartition: Int64] = [:]
        ends = [:]
        for topic in [Topic.throttle, .epoch] {
            for place in log.places(of: topic) {
                let bounds = try log.bounds(of: place)
                positions[place] = topic == .throttle ? bounds.lowerBound : bounds.upperBound
                if topic == .throttle { ends[place] = bounds.upperBound }
            }
        }
        let reader = try log.makeReader(from: positions)
        waiting = Set(ends.keys)
        self.reader = reader
        return reader
    }

    private func take(_ record: LogRecord) {
        switch record.topic {
        case .epoch:
            guard let value = unsafe record.value,
                let epoch = unsafe try? EpochRecord.decode(value, with: documents),
                epoch.partition == record.partition,
                epoch.generation >= heard[record.partition]?.generation ?? 0
            else { return }
            heard[record.partition] = Heard(generation: epoch.generation, at: record.append)
        case .throttle: takeThrottle(record)
        default: break
        }
    }

    private func takeThrottle(_ record: LogRecord) {
        guard let key = unsafe record.key,
            let app = unsafe AppID(String(decoding: key, as: UTF8.self)), apps.contains(app)
        else { return }
        guard let value = unsafe record.value else {
            known[app] = nil
            return
        }
        // A record of a version that is not known keeps what was known.
        guard let read = unsafe try? ThrottleRecord.decode(value, with: documents),
            read.change.app == app
        else { return }
        let new = Known(
            state: read.change.state, revision: read.change.revision, epoch: read.epoch)
        // A zombie's record comes after newer ones.
        if let old = known[app], (new.revision, new.epoch) < (old.revision, old.epoch) { return }
        known[app] = new
    }
}
