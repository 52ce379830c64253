// Records into the table: what is applied, what is older, what is no record. Nothing here traps.

import BrakeModel
import BrakeWire
import EventLog

/// A change of an app that was applied.
struct AppliedChange: Sendable {
    var app: AppID
    /// Nil: the app was deleted.
    var entry: AppEntry?
    /// What held before, nil for an app that was not known.
    var before: AppEntry?
    var partition: Int
    var offset: Int64
    /// When the log took it.
    var append: Int64
}

/// The table while it is written. One thread owns it.
struct TableBuilder {
    private(set) var shards: [TableShard]
    private(set) var caps = CapTable()
    private var ledger = ControlLedger()
    /// By partition, not yet in the shards.
    private var pending: [[AppID: AppEntry?]]
    private var changes: [AppliedChange] = []
    /// Whether anything was applied since the last `settle`.
    private var isTouched = false
    private var isControlTouched = false
    private let reader = DocumentReader()
    private let metrics: ServeMetrics

    init(shards: [TableShard], metrics: ServeMetrics) {
        self.shards = shards
        self.metrics = metrics
        pending = Array(repeating: [:], count: shards.count)
    }

    mutating func apply(_ record: LogRecord) {
        if record.topic == .control { return applyControl(record) }
        guard shards.indices.contains(record.partition) else {
            return metrics.rejected(record.topic, "wrong_partition")
        }
        switch record.topic {
        case .throttle: applyThrottle(record)
        case .stress: applyStress(record)
        case .epoch: applyEpoch(record)
        default: break
        }
    }

    /// Puts what was applied into the shards; returns the changes in their order, and whether there
    /// is anything new at all. O(apps of the partitions with changes), and caps if they may have.
    mutating func settle() -> (changes: [AppliedChange], isTouched: Bool) {
        for partition in pending.indices where !pending[partition].isEmpty {
            shards[partition].merge(pending[partition])
            pending[partition].removeAll(keepingCapacity: true)
        }
        if isControlTouched {
            isControlTouched = false
            let fresh = ledger.capTable
            isTouched = isTouched || fresh != caps
            caps = fresh
        }
        defer {
            changes.removeAll()
            isTouched = false
        }
        return (changes, isTouched)
    }

    /// Gives up telling what has changed so far.
    mutating func forgetChanges() { changes.removeAll(keepingCapacity: true) }

    /// Takes over what is newer in the table served so far, of apps that the log still has: what an
    /// old writer has put over it since must not win by a start anew.
    mutating func keepNewer(of served: [TableShard]) {
        for (partition, old) in served.enumerated() where shards.indices.contains(partition) {
            var newer: [AppID: AppEntry?] = [:]
            for entry in shards[partition].entries {
                guard let known = old.entry(of: entry.change.app), entry.isOlder(than: known)
                else { continue }
                newer[entry.change.app] = known
                metrics.ignoredOlder(.throttle)
            }
            shards[partition].merge(newer)
            for (app, index) in old.stress
            where (shards[partition].stress[app]?.clock ?? .max) < index.clock {
                shards[partition].stress[app] = index
            }
            if let mark = old.epoch, shards[partition].epoch?.isOlder(than: mark) ?? true {
                shards[partition].epoch = mark
            }
        }
    }

    /// Starts with an epoch that was found before.
    mutating func take(_ mark: EpochMark, partition: Int) { shards[partition].epoch = mark }

    private mutating func applyThrottle(_ record: LogRecord) {
        guard let key = unsafe record.key,
            let app = unsafe AppID(String(decoding: key, as: UTF8.self))
        else { return metrics.rejected(.throttle, Rejection.badApp.rawValue) }
        let home = Partitioner.partition(of: app.text.utf8, partitions: shards.count)
        guard home == record.partition else {
            return metrics.rejected(.throttle, "wrong_partition")
        }
        let before = pending[home][app] ?? shards[home].entry(of: app)
        var entry: AppEntry?
        if let value = unsafe record.value {
            do throws(Rejection) {
                let read = unsafe try ThrottleRecord.decode(value, with: reader)
                guard read.change.app == app else { throw Rejection.wrongApp }
                entry = AppEntry(read.change, epoch: read.epoch)
            } catch {
                return metrics.rejected(.throttle, error.rawValue)
            }
        }
        if let entry, let before, entry.isOlder(than: before) {
            return metrics.ignoredOlder(.throttle)
        }
        pending[home][app] = .some(entry)
        shards[home].newestAppend = max(shards[home].newestAppend ?? 0, record.append)
        changes.append(
            AppliedChange(
                app: app, entry: entry, before: before, partition: home, offset: record.offset,
                append: record.append))
        isTouched = true
        metrics.applied(.throttle)
    }

    private mutating func applyStress(_ record: LogRecord) {
        guard let key = unsafe record.key,
            let app = unsafe AppID(String(decoding: key, as: UTF8.self))
        else { return metrics.rejected(.stress, Rejection.badApp.rawValue) }
        var index: StressIndex?
        if let value = unsafe record.value {
            do throws(Rejection) {
                let read = unsafe try StressRecord.decode(value, with: reader)
                guard read.index.app == app else { throw Rejection.wrongApp }
                index = read.index
            } catch {
                return metrics.rejected(.stress, error.rawValue)
            }
        }
        if let index, let known = shards[record.partition].stress[app], index.clock < known.clock {
            return metrics.ignoredOlder(.stress)
        }
        shards[record.partition].stress[app] = index
        isTouched = true
        metrics.applied(.stress)
    }

    /// Base caps come from here; the rest is the evaluator's, and comes by way of throttle.
    private mutating func applyControl(_ record: LogRecord) {
        let rejections = ledger.rejections.last?.offset
        unsafe ledger.take(offset: record.offset, value: record.value, with: reader)
        guard ledger.rejections.last?.offset == rejections else {
            return metrics.rejected(.control, Rejection.badField.rawValue)
        }
        metrics.applied(.control)
        isControlTouched = true
    }

    private mutating func applyEpoch(_ record: LogRecord) {
        switch EpochMark.read(record, with: reader) {
        case .failure(let rejection): metrics.rejected(.epoch, rejection.rawValue)
        case .success(let mark):
            if let known = shards[record.partition].epoch, mark.isOlder(than: known) {
                return metrics.ignoredOlder(.epoch)
            }
            shards[record.partition].epoch = mark
            isTouched = true
            metrics.applied(.epoch)
        }
    }
}

extension EpochMark {
    static func read(
        _ record: LogRecord, with reader: DocumentReader
    ) -> Result<EpochMark, Rejection> {
        guard let value = unsafe record.value else { return .failure(.empty) }
        do {
            let epoch = unsafe try EpochRecord.decode(value, with: reader)
            guard epoch.partition == record.partition else { return .failure(.badField) }
            return .success(
                EpochMark(
                    number: epoch.number, generation: epoch.generation, append: record.append))
        } catch {
            return .failure(error)
        }
    }
}
