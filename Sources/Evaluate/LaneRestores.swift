// The partitions that a lane has been assigned but does not evaluate yet, and those it has lost but
// may get again in a moment.

import EventLog
import Runtime

/// Brings a lane's partitions back one by one, a piece at a time. One thread owns it.
final class LaneRestores {
    /// How long the state of a revoked partition is kept. A rebalance takes everything away and
    /// gives most of it back within a second or two; a partition that has gone to another lane
    /// changes there with the next epoch.
    private static let keptMilliseconds: Int64 = 30_000
    /// How long a restore is silent, and how often it then tells how far it is.
    private static let progressMilliseconds: Int64 = 5_000
    /// How long a restore waits for a log that has nothing to give yet, when nothing else is to do.
    private static let patienceMilliseconds = 100

    private enum Kept {
        case group(PartitionGroup)
        case restore(Restore)
    }

    private let lane: Int
    private let setting: Restore.Setting
    private let settings: EvaluateSettings
    private let metrics: EvaluateMetrics
    private let clocks: Clocks
    /// In the order in which they are restored.
    private var waiting: [Int] = []
    private var current: Restore?
    private var toldAt: Int64 = 0
    private var kept: [Int: (state: Kept, since: Int64)] = [:]
    /// Of those restored, and not told of yet.
    private var accounts: [RestoreAccount] = []
    /// Whether the last piece ended because the log had nothing to give yet.
    private var isWaiting = false

    init(
        lane: Int, _ setting: Restore.Setting, _ settings: EvaluateSettings,
        _ metrics: EvaluateMetrics, _ clocks: Clocks
    ) {
        self.lane = lane
        self.setting = setting
        self.settings = settings
        self.metrics = metrics
        self.clocks = clocks
    }

    /// Whether nothing is left to restore.
    var isEmpty: Bool { waiting.isEmpty }

    /// How long the lane may wait for records of its other partitions before the next piece.
    var othersMayWaitMilliseconds: Int {
        waiting.isEmpty ? .max : isWaiting ? Self.patienceMilliseconds / 5 : 0
    }

    /// Takes partitions that were assigned: after the one that has been begun, those that may be
    /// current come first.
    func add(_ partitions: [Int]) {
        func rank(_ partition: Int) -> Int {
            partition == current?.partition ? 0 : kept[partition] != nil ? 1 : 2
        }
        waiting = (waiting + partitions).sorted { (rank($0), $0) < (rank($1), $1) }
        for partition in partitions { metrics.restoring(true, partition) }
    }

    /// Forgets partitions that were revoked before they were restored; what has been done for one
    /// of them is kept.
    func remove(_ partitions: [Int]) {
        for partition in partitions where waiting.contains(partition) {
            metrics.restoring(false, partition)
        }
        waiting.removeAll { partitions.contains($0) }
        guard let restore = current, partitions.contains(restore.partition) else { return }
        kept[restore.partition] = (.restore(restore), clocks.monotonicMilliseconds())
        current = nil
    }

    /// Keeps the state of a partition that was revoked, as its last epoch left it.
    func keep(_ group: PartitionGroup) {
        guard group.lastEpoch != nil else { return }
        group.dropUncounted()
        kept[group.partition] = (.group(group), clocks.monotonicMilliseconds())
    }

    /// Restores for a while, and returns a partition that is ready, with the worker reading it.
    func step(_ worker: any LogWorker, isAlone: Bool) throws(LogFault) -> PartitionGroup? {
        let begun = clocks.monotonicMilliseconds()
        if !kept.isEmpty {
            kept = kept.filter { begun - $0.value.since < Self.keptMilliseconds }
        }
        guard let partition = waiting.first else { return nil }
        if current == nil { try begin(partition, worker, now: begun) }
        guard let restore = current else { return nil }
        if restore.wantsPositions {
            restore.begin(committed: try worker.committedPositions(partition: partition))
        }
        var piece = Piece.more
        while piece == .more {
            piece = try restore.step(waitMilliseconds: isAlone ? Self.patienceMilliseconds : 0)
            let now = clocks.monotonicMilliseconds()
            tellProgress(of: restore, now: now)
            if now - begun >= settings.restorePieceMilliseconds { break }
        }
        isWaiting = piece == .waiting
        guard let group = restore.group else { return nil }
        try worker.start(partition: partition, at: group.positions)
        waiting.removeFirst()
        current = nil
        finish(restore)
        return group
    }

    private func begin(
        _ partition: Int, _ worker: any LogWorker, now: Int64
    ) throws(LogFault) {
        let committed = try worker.committedPositions(partition: partition)
        let restore: Restore
        switch kept.removeValue(forKey: partition)?.state {
        case .restore(let begun): restore = begun
        case .group(let group):
            restore = Restore(partition, isRebuild: false, kept: group, setting)
        case nil:
            restore = Restore(
                partition, isRebuild: settings.rebuild?.isDue(partition) ?? false, setting)
        }
        restore.begin(committed: committed)
        current = restore
        toldAt = now
    }

    private func finish(_ restore: Restore) {
        metrics.restoring(false, restore.partition)
        accounts.append(restore.account)
        if restore.isRebuild {
            settings.rebuild?.note(done: restore.partition)
            var words = restore.account.words
            words["lane"] = LogValue(lane)
            words["partition"] = LogValue(restore.partition)
            setting.logger.info("partition rebuilt", words)
        }
        if waiting.isEmpty { tellRestores() }
    }

    private func tellProgress(of restore: Restore, now: Int64) {
        guard now - toldAt >= Self.progressMilliseconds, let stage = restore.account.stage else {
            return
        }
        toldAt = now
        let (done, total) = (restore.account.done, restore.account.total)
        var words: [String: LogValue] = [
            "lane": LogValue(lane), "partition": LogValue(restore.partition),
            "stage": .text(stage.rawValue), "done": LogValue(done), "of": LogValue(total),
            "partitions_left": LogValue(waiting.count),
        ]
        if let left = restore.account.secondsLeft(now: now) {
            words["seconds_left"] = LogValue(left)
        }
        setting.logger.info("restoring", words)
    }

    /// Says by what the partitions have been brought back: after a clean stop by snapshots, with
    /// hardly an epoch to count again.
    private func tellRestores() {
        setting.logger.info(
            "partitions restored",
            [
                "lane": LogValue(lane), "partitions": LogValue(accounts.count),
                "kept": LogValue(accounts.count { $0.origin == .kept }),
                "snapshots": LogValue(accounts.count { $0.origin == .snapshot }),
                "epochs_counted_again": LogValue(accounts.reduce(0) { $0 + $1.epochs }),
            ])
        accounts.removeAll()
    }
}
