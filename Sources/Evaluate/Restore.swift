// Bringing a partition back to where its last epoch left it, from the log alone.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog
import Runtime

/// Restores one partition group, piece by piece, so that a lane goes on with its other partitions
/// meanwhile and hears of it when this one is given to another lane.
///
/// The order is that of trust: what was committed, the epoch that goes with it, the state that this
/// lane itself had when it committed that epoch, the newest snapshot that is whole, the inputs
/// after it, epoch by epoch. Every epoch's checksum is compared; one that differs stops the
/// partition rather than deciding on counts that are not those of the log.
final class Restore {
    private enum Stage {
        case last(EpochHistory)
        /// The next snapshot, or what is done without one.
        case choice
        case snapshot(SnapshotScan)
        /// The snapshot is read; what it holds is made of it once its epoch is known.
        case epochs(EpochHistory, after: SnapshotScan?)
        case states(PublishedStates, from: EpochRecord.Offsets, epochs: [EpochRecord])
        case inputs(Recounting)
        case done(PartitionGroup)
    }

    /// What a restore is made with.
    struct Setting {
        let log: any EventLog
        /// Of apps that people have not assigned another.
        let policy: Policy
        let limits: EvaluatorLimits
        let logger: Logger
        let clocks: Clocks
    }

    let partition: Int
    /// Whether it takes nothing but the epochs and the inputs, whatever snapshots there are.
    let isRebuild: Bool
    private(set) var account = RestoreAccount()
    private let setting: Setting
    private var log: any EventLog { setting.log }
    private var committed: [TopicPartition: Int64] = [:]
    /// What did not agree, the last time.
    private var doubt: (last: EpochRecord?, committed: [TopicPartition: Int64])?
    /// Whether the positions are to be asked for again: whoever has lost the partition without
    /// knowing it reads epochs that are younger than its positions. Only what does not agree twice
    /// in the same way is wrong.
    private(set) var wantsPositions = false
    private var kept: PartitionGroup?
    private var stage: Stage
    /// Where it was when its partition was taken away.
    private var interrupted: Stage?
    private var last: EpochRecord?
    /// Of the last epoch, those not tried yet.
    private var pointers: ArraySlice<EpochRecord.SnapshotPointer> = []
    /// Between being read from a snapshot and being in a group.
    private var evaluator: Evaluator?
    /// What people have decided, for every stage of it.
    private let control: ControlFeed

    /// `kept`: the group as this lane had it when it last owned the partition.
    init(
        _ partition: Int, isRebuild: Bool, kept: PartitionGroup? = nil, _ setting: Setting
    ) {
        self.partition = partition
        self.isRebuild = isRebuild
        self.kept = isRebuild ? nil : kept
        self.setting = setting
        control = ControlFeed(log: setting.log, isRewindable: true)
        stage = .last(EpochHistory(lastOf: partition, in: setting.log))
    }

    /// The group, once it is done.
    var group: PartitionGroup? {
        guard case .done(let group) = stage else { return nil }
        return group
    }

    /// Begins, or goes on after the partition was away, if nothing has been committed meanwhile.
    func begin(committed: [TopicPartition: Int64]) {
        self.committed = committed
        wantsPositions = false
        if case .last = stage {} else if interrupted == nil { interrupted = stage }
        stage = .last(EpochHistory(lastOf: partition, in: log))
    }

    /// Does the next piece, and waits so long for the log at the most.
    func step(waitMilliseconds: Int) throws(LogFault) -> Piece {
        switch stage {
        case .last(let history):
            let piece = try history.step(waitMilliseconds: waitMilliseconds)
            guard piece == .done else { return piece }
            guard try agrees(history.found.last) else { return .waiting }
            try begin(after: history.found.last)
        case .choice:
            try choose()
        case .snapshot(let scan):
            return try read(scan, waitMilliseconds: waitMilliseconds)
        case .epochs(let history, let snapshot):
            let piece = try history.step(waitMilliseconds: waitMilliseconds)
            guard piece == .done else { return piece }
            try plan(history.found, after: snapshot)
        case .states(let states, let start, let epochs):
            note(.states, Int(states.offsetsRead), of: Int(states.offsets))
            let piece = try states.step(waitMilliseconds: waitMilliseconds)
            guard piece == .done else { return piece }
            try recount(states, from: start, epochs)
            states.close()
        case .inputs(let recounting):
            let piece = try recounting.step(waitMilliseconds: waitMilliseconds)
            note(.inputs, Int(recounting.recordsCounted), of: Int(recounting.records))
            guard piece == .done else { return piece }
            account.epochs = recounting.epochsCounted
            account.epochsCompared = recounting.epochsCompared
            account.records = Int(recounting.records)
            recounting.close()
            finish(recounting.group)
        case .done: return .done
        }
        return group == nil ? .more : .done
    }

    private func note(_ stage: RestoreAccount.Stage, _ done: Int, of total: Int) {
        account.note(stage, done, of: total, now: setting.clocks.monotonicMilliseconds())
    }

    private func finish(_ group: PartitionGroup) {
        group.lastEpoch = last
        control.close()
        stage = .done(group)
    }

    // MARK: The last epoch

    private func begin(after last: EpochRecord?) throws(LogFault) {
        if let interrupted, last != nil, last == self.last {
            self.interrupted = nil
            stage = interrupted
            return
        }
        interrupted = nil
        account = RestoreAccount()
        self.last = last
        guard let last else {
            let (start, end) = (try firstOffsets(), try throttleEnd())
            let empty = Evaluator(policy: setting.policy, limits: setting.limits)
            return finish(makeGroup(empty, at: start, snapshots: [], throttleEnd: end))
        }
        if let kept, kept.lastEpoch == last, kept.positions == committed {
            account.origin = .kept
            return finish(kept)
        }
        kept = nil
        pointers = isRebuild ? [] : last.snapshots[...]
        stage = .choice
    }

    /// Whether epochs and positions tell the same; if not, the positions are asked for once more.
    private func agrees(_ last: EpochRecord?) throws(LogFault) -> Bool {
        do {
            try check(last, against: committed)
            doubt = nil
            return true
        } catch {
            let isSame = doubt.map { $0.last == last && $0.committed == committed } ?? false
            guard !isSame else { throw error }
            doubt = (last, committed)
            wantsPositions = true
            return false
        }
    }

    private func check(
        _ last: EpochRecord?, against committed: [TopicPartition: Int64]
    ) throws(LogFault) {
        guard let last else {
            guard committed.isEmpty else {
                throw fault("positions are committed, but no epoch is there to explain them")
            }
            return
        }
        for type in EventType.allCases {
            let position = committed[place(type)]
            guard position == last.offsets[type] else {
                throw fault(
                    "epoch \(last.number) ends \(type.name) at \(last.offsets[type]), but "
                        + "\(position.map(String.init) ?? "no position") is committed")
            }
        }
    }

    // MARK: A snapshot

    private func choose() throws(LogFault) {
        guard let pointer = pointers.first else { return try beginWithoutSnapshot() }
        do {
            stage = .snapshot(try SnapshotScan(pointer, of: partition, in: log))
        } catch {
            try fallBack(from: pointer, since: error)
        }
    }

    private func read(_ scan: SnapshotScan, waitMilliseconds: Int) throws(LogFault) -> Piece {
        do {
            let piece = try scan.step(waitMilliseconds: waitMilliseconds)
            note(.snapshot, scan.bytesRead, of: scan.pointer.bytes)
            guard piece == .done else { return piece }
            scan.close()
            stage = .epochs(try epochs(from: scan.pointer.epoch), after: scan)
        } catch {
            try fallBack(from: scan.pointer, since: error)
        }
        return .more
    }

    private func epochs(from number: Int64) throws(LogFault) -> EpochHistory {
        guard let last else { throw fault("no epoch is there") }
        return EpochHistory(of: partition, from: number, upTo: last, in: log)
    }

    /// Goes on with an older snapshot, and says so, when one is torn or missing. A log that does
    /// not answer is neither.
    private func fallBack(
        from pointer: EpochRecord.SnapshotPointer, since reason: any Error
    ) throws(LogFault) {
        if let fault = reason as? LogFault, fault.remedy != .stop { throw fault }
        skip(pointer, "a snapshot cannot be used: \(reason)")
    }

    private func skip(_ pointer: EpochRecord.SnapshotPointer, _ reason: String) {
        setting.logger.warning(
            "falling back to an older snapshot",
            [
                "partition": LogValue(partition), "epoch": LogValue(Int(pointer.epoch)),
                "reason": .text(reason),
            ])
        evaluator = nil
        pointers.removeFirst()
        stage = .choice
    }

    /// What to count again, with the epochs from that of the snapshot on, or from the first.
    private func plan(
        _ epochs: [EpochRecord], after snapshot: SnapshotScan?
    ) throws(LogFault) {
        guard let snapshot else { return try planWithoutSnapshot(epochs) }
        let pointer = snapshot.pointer
        guard let first = epochs.first, first.number == pointer.epoch else {
            return skip(pointer, "its epoch is no longer there")
        }
        do {
            evaluator = try snapshot.evaluator(
                controls: try controls(upTo: first.offsets.control), limits: setting.limits)
        } catch {
            return try fallBack(from: pointer, since: error)
        }
        account.origin = .snapshot
        let rest = Array(epochs.dropFirst())
        guard !rest.isEmpty else {
            // The snapshot is that of the last epoch, but the last epoch cannot yet point to it.
            throw fault("an epoch points to a snapshot of itself")
        }
        if try areRepeatable(rest) { return try replay(rest, from: first.offsets) }
        warnOfOtherSettings()
        try beginStates(from: first.offsets, rest)
    }

    // MARK: Without one

    private func beginWithoutSnapshot() throws(LogFault) {
        let start = try firstOffsets()
        if isRebuild || EventType.allCases.allSatisfy({ start[$0] == 0 }) {
            stage = .epochs(try epochs(from: 1), after: nil)
        } else {
            try beginCut(from: start, [])
        }
    }

    /// Every epoch again if all are there, else states as published and windows from the inputs.
    private func planWithoutSnapshot(_ epochs: [EpochRecord]) throws(LogFault) {
        let start = try firstOffsets()
        let isWhole =
            epochs.first?.number == 1 && EventType.allCases.allSatisfy { start[$0] == 0 }
        guard isWhole else { return try beginCut(from: start, epochs) }
        evaluator = Evaluator(policy: setting.policy, limits: setting.limits)
        if try areRepeatable(epochs) {
            account.origin = .everyEpoch
            return try replay(epochs, from: start)
        }
        account.origin = .publishedStates
        warnOfOtherSettings()
        try beginStates(from: start, epochs)
    }

    private func beginCut(
        from start: EpochRecord.Offsets, _ epochs: [EpochRecord]
    ) throws(LogFault) {
        account.origin = .publishedStates
        account.firstOffsets = start
        account.firstEpoch = epochs.first?.number
        if !isRebuild {
            setting.logger.warning(
                "no snapshot is left: states as published, windows from the inputs still there",
                ["partition": LogValue(partition)])
        }
        evaluator = Evaluator(policy: setting.policy, limits: setting.limits)
        // Epochs that reach before what is left of the inputs cannot be counted one by one.
        let left = epochs.drop { epoch in
            EventType.allCases.contains { epoch.offsets[$0] < start[$0] }
        }
        try beginStates(from: start, Array(left))
    }

    // MARK: Counting again

    /// Whether this evaluator decides epochs, which follow one another, as they were decided.
    private func areRepeatable(_ epochs: [EpochRecord]) throws(LogFault) -> Bool {
        let limits = setting.limits
        var versions: [EpochRecord.PolicyVersion] = []
        var end: Int64 = -1
        for epoch in epochs {
            if epoch.offsets.control > end {
                end = epoch.offsets.control
                try control.advance(to: end)
                versions = PartitionGroup.versions(
                    of: control.ledger.controls(base: setting.policy) { _ in false }.policies)
            }
            guard epoch.policies == versions, epoch.appsMax ?? limits.appsMax == limits.appsMax
            else { return false }
        }
        return true
    }

    /// What people had decided up to an offset of `control`.
    private func controls(upTo end: Int64) throws(LogFault) -> Controls {
        try control.advance(to: end)
        return PartitionGroup.controls(
            of: partition, partitions: log.partitions, by: control.ledger, base: setting.policy,
            since: end)
    }

    /// Counts epochs again as they were counted; what they publish is in the log already.
    private func replay(
        _ epochs: [EpochRecord], from start: EpochRecord.Offsets
    ) throws(LogFault) {
        // After a rebuild nobody shall begin with what it has been done to get rid of.
        let snapshots = isRebuild ? [] : last?.snapshots ?? []
        // First what may fail: it is tried again then, with what is there.
        let scan = try EpochReplay.scan(of: partition, in: log, from: start)
        let end = try throttleEnd()
        guard let evaluator = evaluator.take() else { throw fault("there is no evaluator") }
        let group = makeGroup(evaluator, at: start, snapshots: snapshots, throttleEnd: end)
        let counting = EpochReplay(
            log, group, scan, control, base: setting.policy, epochs: epochs)
        stage = .inputs(Recounting(epochs, counting, from: start))
    }

    private func beginStates(
        from start: EpochRecord.Offsets, _ epochs: [EpochRecord]
    ) throws(LogFault) {
        stage = .states(try PublishedStates(of: partition, in: log), from: start, epochs: epochs)
    }

    /// Counts what came before the last epoch's end, and takes the states as they were published.
    private func recount(
        _ states: PublishedStates, from start: EpochRecord.Offsets, _ epochs: [EpochRecord]
    ) throws(LogFault) {
        let scan = try EpochReplay.scan(of: partition, in: log, from: start)
        let end = try throttleEnd()
        guard let last else { throw fault("no epoch is there") }
        let controls = try controls(upTo: last.offsets.control)
        guard var evaluator = evaluator.take() else { throw fault("there is no evaluator") }
        var told = Decisions()
        evaluator.adopt(controls, into: &told)
        states.seed(&evaluator)
        account.states = states.count
        evaluator.beginRecount()
        let isFromSnapshot = evaluator.clock > .min
        // The older snapshots lead to other checksums than this: they are pointed to no longer.
        let group = makeGroup(evaluator, at: start, snapshots: [], throttleEnd: end)
        group.controlEnd = last.offsets.control
        let counted = epochs.isEmpty ? [last] : epochs
        let counting = EpochReplay(
            log, group, scan, control, base: setting.policy, epochs: counted)
        stage = .inputs(
            Recounting(
                counted, counting, from: start,
                withoutDecisions: .init(
                    isFromSnapshot: isFromSnapshot, isComparable: !states.hasDeletions)))
    }

    private func warnOfOtherSettings() {
        setting.logger.warning(
            "the last epochs had another policy or limit: states are taken as published",
            ["partition": LogValue(partition)])
    }

    // MARK: Parts

    private func makeGroup(
        _ evaluator: consuming Evaluator, at offsets: EpochRecord.Offsets,
        snapshots: [EpochRecord.SnapshotPointer], throttleEnd: Int64
    ) -> PartitionGroup {
        PartitionGroup(
            partition: partition, evaluator: evaluator,
            positions: EventType.allCases.map { offsets[$0] }, controlEnd: offsets.control,
            number: last?.number ?? 0, snapshots: snapshots, throttleEnd: throttleEnd)
    }

    /// An epoch tells the end before its own records: where they have ended, only the log knows.
    private func throttleEnd() throws(LogFault) -> Int64 {
        try log.bounds(of: TopicPartition(.throttle, partition)).upperBound
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
}
