// Bringing a partition back to where its last epoch left it, from the log alone.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog
import Runtime

/// A partition group that has been brought back, and by what.
struct Restored {
    let group: PartitionGroup
    /// Whether it began with a snapshot.
    var hasSnapshot = false
    /// Epochs that were counted again.
    var epochs = 0
}

/// Restores one partition group. The order is that of trust: what was committed, the epoch that
/// goes with it, the newest snapshot that is whole, the inputs after it, epoch by epoch. Every
/// epoch's checksum is compared; one that differs stops the partition rather than deciding on
/// counts that are not those of the log.
struct Restore {
    let log: any EventLog
    let partition: Int
    let policy: Policy
    let limits: EvaluatorLimits
    let logger: Logger

    /// The group as it was when these positions were committed.
    func run(committed: [TopicPartition: Int64]) throws(LogFault) -> Restored {
        let history = EpochHistory(log: log, partition: partition)
        guard let last = try history.last() else {
            guard committed.isEmpty else {
                throw fault("positions are committed, but no epoch is there to explain them")
            }
            return Restored(
                group: try makeGroup(
                    Evaluator(policy: policy, limits: limits), at: try firstOffsets(), after: nil))
        }
        try check(last, against: committed)
        for pointer in last.snapshots {
            let epochs = try history.epochs(from: pointer.epoch, upTo: last)
            guard let first = epochs.first, first.number == pointer.epoch else {
                warn("the epoch of a snapshot is no longer there", pointer)
                continue
            }
            guard let evaluator = try restoreImage(pointer, of: first) else { continue }
            let rest = Array(epochs.dropFirst())
            guard try areRepeatable(rest) else {
                warnOfOtherSettings()
                let group = try recount(evaluator, from: first.offsets, upTo: last)
                return Restored(group: group, hasSnapshot: true, epochs: rest.count)
            }
            let group = try replay(evaluator, epochs: rest, from: first.offsets)
            return Restored(group: group, hasSnapshot: true, epochs: rest.count)
        }
        return try withoutSnapshot(history, last)
    }

    private func check(
        _ last: EpochRecord, against committed: [TopicPartition: Int64]
    ) throws(LogFault) {
        for type in EventType.allCases {
            let position = committed[place(type)]
            guard position == last.offsets[type] else {
                throw fault(
                    "epoch \(last.number) ends \(type.name) at \(last.offsets[type]), but "
                        + "\(position.map(String.init) ?? "no position") is committed")
            }
        }
    }

    // MARK: From a snapshot

    /// The evaluator of a snapshot, nil, and said, when that is torn or missing. A log that does
    /// not answer is neither.
    private func restoreImage(
        _ pointer: EpochRecord.SnapshotPointer, of epoch: EpochRecord
    ) throws(LogFault) -> Evaluator? {
        let controls = try controls(upTo: epoch.offsets.control)
        var image = SnapshotImage(
            partition: partition, epoch: pointer.epoch, chunks: pointer.chunks,
            bytes: pointer.bytes)
        do {
            let place = TopicPartition(.snapshot, partition)
            let scan = try LogScan(log, from: [place: pointer.offset])
            defer { scan.close() }
            while !image.isWhole {
                var isTorn: (any Error)?
                let more = try scan.next { records in
                    for record in records where isTorn == nil && !image.isWhole {
                        guard let value = unsafe record.value else { continue }
                        do { unsafe try image.append(value) } catch { isTorn = error }
                    }
                }
                if let isTorn { throw isTorn }
                guard more || image.isWhole else { break }
            }
            return try Evaluator(
                restoring: try image.finish(), controls: controls, limits: limits)
        } catch let fault as LogFault where fault.remedy != .stop {
            throw fault
        } catch {
            warn("a snapshot cannot be used: \(error)", pointer)
            return nil
        }
    }

    /// Counts the epochs after a snapshot again; what they publish is in the log already.
    private func replay(
        _ evaluator: consuming Evaluator, epochs: [EpochRecord], from start: EpochRecord.Offsets
    ) throws(LogFault) -> PartitionGroup {
        guard let last = epochs.last else {
            // The snapshot is that of the last epoch, but the last epoch cannot yet point to it.
            throw fault("an epoch points to a snapshot of itself")
        }
        let group = try makeGroup(evaluator, at: start, after: last)
        let replay = try EpochReplay(log: log, group: group, from: start, base: policy)
        defer { replay.close() }
        for epoch in epochs {
            try replay.count(epoch)
            group.dropOutputs()
        }
        group.dropUncounted()
        return group
    }

    /// A group as it was at the beginning of a rehearsal, with the offsets that it goes on from.
    func group(
        toRehearseFrom beginning: RehearsalBeginning
    ) throws(LogFault) -> (group: PartitionGroup, start: EpochRecord.Offsets) {
        switch beginning {
        case .firstRecord:
            let start = try firstOffsets()
            let evaluator = Evaluator(policy: policy, limits: limits)
            return (try makeGroup(evaluator, at: start, after: nil), start)
        case .snapshot(let pointer, of: let epoch):
            guard let evaluator = try restoreImage(pointer, of: epoch) else {
                throw fault("the snapshot of epoch \(epoch.number) cannot be used")
            }
            return (try makeGroup(evaluator, at: epoch.offsets, after: nil), epoch.offsets)
        }
    }

    // MARK: Without one

    /// Every epoch again if all are there, else states as published and windows from the inputs.
    private func withoutSnapshot(
        _ history: EpochHistory, _ last: EpochRecord
    ) throws(LogFault) -> Restored {
        let first = try firstOffsets()
        let empty = Evaluator(policy: policy, limits: limits)
        if EventType.allCases.allSatisfy({ first[$0] == 0 }) {
            let epochs = try history.epochs(from: 1, upTo: last)
            if epochs.first?.number == 1, try areRepeatable(epochs) {
                let group = try replay(empty, epochs: epochs, from: first)
                return Restored(group: group, epochs: epochs.count)
            }
            if epochs.first?.number == 1 {
                warnOfOtherSettings()
                return Restored(group: try recount(empty, from: first, upTo: last))
            }
        }
        logger.warning(
            "no snapshot is left: states as published, windows from the inputs still there",
            ["partition": LogValue(partition)])
        return Restored(group: try recount(empty, from: first, upTo: last))
    }

    // MARK: Without the decisions

    /// Whether this evaluator decides epochs, which follow one another, as they were decided.
    private func areRepeatable(_ epochs: [EpochRecord]) throws(LogFault) -> Bool {
        let control = ControlFeed(log: log)
        defer { control.close() }
        var versions: [EpochRecord.PolicyVersion] = []
        var end: Int64 = -1
        for epoch in epochs {
            if epoch.offsets.control > end {
                end = epoch.offsets.control
                try control.advance(to: end)
                versions = PartitionGroup.versions(
                    of: control.ledger.controls(base: policy) { _ in false }.policies)
            }
            guard epoch.policies == versions, epoch.appsMax ?? limits.appsMax == limits.appsMax
            else { return false }
        }
        return true
    }

    /// What people had decided up to an offset of `control`.
    private func controls(upTo end: Int64) throws(LogFault) -> Controls {
        let control = ControlFeed(log: log)
        defer { control.close() }
        try control.advance(to: end)
        return PartitionGroup.controls(
            of: partition, partitions: log.partitions, by: control.ledger, base: policy, since: end)
    }

    /// Counts what came before the last epoch's end, and takes the states as they were published.
    private func recount(
        _ evaluator: consuming Evaluator, from start: EpochRecord.Offsets, upTo last: EpochRecord
    ) throws(LogFault) -> PartitionGroup {
        var evaluator = evaluator
        var told = Decisions()
        evaluator.adopt(try controls(upTo: last.offsets.control), into: &told)
        try seed(&evaluator)
        evaluator.beginRecount()
        let isFromSnapshot = evaluator.clock > .min
        // The older snapshots lead to other checksums than this: they are pointed to no longer.
        let group = try makeGroup(evaluator, at: start, after: last, snapshots: [])
        group.controlEnd = last.offsets.control
        let replay = try EpochReplay(log: log, group: group, from: start, base: policy)
        defer { replay.close() }
        try replay.count(upTo: last.offsets, clock: last.clock)
        let coverage = EventType.allCases.map { type in
            isFromSnapshot || start[type] == 0
                ? .min : replay.firstAppends[Int(type.rawValue)] ?? last.clock
        }
        group.evaluator.resume(at: last.clock, coveredSince: coverage.reduce(.min, max))
        group.dropUncounted()
        return group
    }

    private func warnOfOtherSettings() {
        logger.warning(
            "the last epochs had another policy or limit: states are taken as published",
            ["partition": LogValue(partition)])
    }

    /// Takes a record of the table: a state, or the deletion of an app.
    private static func note(
        _ record: LogRecord, in states: inout [AppID: ThrottleRecord], _ reader: DocumentReader
    ) {
        guard let value = unsafe record.value else {
            let key = unsafe record.key.map { unsafe String(decoding: $0, as: UTF8.self) }
            if let app = AppID(key ?? "") { states[app] = nil }
            return
        }
        if let state = unsafe try? ThrottleRecord.decode(value, with: reader) {
            states[state.change.app] = state
        }
    }

    /// Makes the apps of `throttle` known in their states.
    private func seed(_ evaluator: inout Evaluator) throws(LogFault) {
        var states: [AppID: ThrottleRecord] = [:]
        let place = TopicPartition(.throttle, partition)
        let scan = try LogScan(log, from: [place: try log.bounds(of: place).lowerBound])
        defer { scan.close() }
        let reader = DocumentReader()
        var isMore = true
        while isMore {
            isMore = try scan.next { records in
                for record in records { Self.note(record, in: &states, reader) }
            }
        }
        for app in states.keys.sorted() {
            if let state = states[app] { evaluator.seed(state.change) }
        }
    }

    // MARK: Parts

    private func makeGroup(
        _ evaluator: consuming Evaluator, at offsets: EpochRecord.Offsets, after last: EpochRecord?,
        snapshots: [EpochRecord.SnapshotPointer]? = nil
    ) throws(LogFault) -> PartitionGroup {
        // An epoch tells the end before its own records: where they have ended, only the log knows.
        let throttle = TopicPartition(.throttle, partition)
        return PartitionGroup(
            partition: partition, evaluator: evaluator,
            positions: EventType.allCases.map { offsets[$0] },
            controlEnd: offsets.control, number: last?.number ?? 0,
            snapshots: snapshots ?? last?.snapshots ?? [],
            throttleEnd: try log.bounds(of: throttle).upperBound)
    }

    private func firstOffsets() throws(LogFault) -> EpochRecord.Offsets {
        var offsets = EpochRecord.Offsets()
        for type in EventType.allCases {
            offsets[type] = try log.bounds(of: place(type)).lowerBound
        }
        return offsets
    }

    private func place(_ type: EventType) -> TopicPartition {
        TopicPartition(Topic(type), partition)
    }

    private func fault(_ reason: String) -> LogFault {
        LogFault(
            "restore", at: "partition \(partition) of \(log.place)", reason: reason,
            hint: "the log is not the one that was committed to: was it replaced or cut?",
            remedy: .stop)
    }

    private func warn(_ message: String, _ pointer: EpochRecord.SnapshotPointer) {
        logger.warning(
            "falling back to an older snapshot",
            [
                "partition": LogValue(partition), "epoch": LogValue(Int(pointer.epoch)),
                "reason": .text(message),
            ])
    }
}
