// One thread's work: read, count, decide, commit, for the partitions that the group gives it.

import BrakeEngine
import BrakeModel
import BrakeWire
package import EventLog
package import Runtime

/// A member of the group of evaluators. It pulls: it polls only when it can finish a batch, so a
/// slow log or a slow lane slows reading and nothing else. Its groups' memory is never rewound:
/// what an epoch publishes stays until the log has it.
package final class EvaluatorLane {
    private static let waitMaxMilliseconds: Int64 = 1_000
    private static let retryFirstMilliseconds = 50
    private static let retryMaxMilliseconds = 2_000
    /// How long a stop may wait for a log that does not answer.
    private static let stopPatienceMilliseconds: Int64 = 5_000
    /// An epoch that publishes so much is committed though the lane is behind.
    private static let changesMax = 10_000

    private let log: any EventLog
    private let lane: Int
    private let settings: EvaluateSettings
    private let logger: Logger
    private let metrics: EvaluateMetrics
    private let decoder = EventDecoder()
    private let batch = LogBatch()
    private var groups: [Int: PartitionGroup] = [:]
    private var tallies: [Int: Tallies] = [:]
    /// By partition, on the monotonic clock.
    private var committedAt: [Int: Int64] = [:]
    private var snapshotAt: [Int: Int64] = [:]
    private var assignmentWaits = true
    /// Never requested: to pause on while `stop` is.
    private let pauses = StopSignal()

    package init(
        log: any EventLog, lane: Int, settings: EvaluateSettings, logger: Logger,
        metrics: EvaluateMetrics
    ) {
        self.log = log
        self.lane = lane
        self.settings = settings
        self.logger = logger
        self.metrics = metrics
    }

    /// Works until asked to stop; then commits what is counted, with a snapshot, and leaves.
    package func run(stop: StopSignal) throws(LogFault) {
        let log = log
        let lane = lane
        guard
            let worker = try retrying(
                stop, "join",
                { () throws(LogFault) in
                    try log.makeWorker(lane: lane)
                })
        else { return }
        defer { worker.close() }
        while !stop.isRequested {
            if assignmentWaits || groups.isEmpty { try settleAssignment(worker, stop) }
            if groups.isEmpty { continue }
            try step(worker, stop)
        }
        try leave(worker, stop)
    }

    private func step(_ worker: any LogWorker, _ stop: StopSignal) throws(LogFault) {
        worker.held = Set(groups.values.flatMap(\.fullInputs))
        let batch = batch
        let wait = waitMilliseconds()
        guard
            let outcome = try retrying(
                stop, "read",
                { () throws(LogFault) in
                    try worker.poll(into: batch, waitMilliseconds: wait)
                })
        else { return }
        assignmentWaits = outcome.assignmentWaits
        for index in batch.records.indices {
            let record = batch.records[index]
            guard let type = EventType(name: record.topic.name) else { continue }
            groups[record.partition]?.take(record, as: type, with: decoder)
        }
        batch.reset()
        for group in groups.values { group.note(outcome) }
        if groups.values.contains(where: { $0.hasStragglers && $0.isOpen }) {
            try commit(groups.values.filter(\.isOpen), worker, stop)
        }
        for group in groups.values {
            group.count()
            group.followWallClock(idleLag: settings.idleLagMilliseconds)
        }
        let due = groupsToCommit(isLive: outcome.ended.count == groups.count * Topic.inputs.count)
        if !due.isEmpty { try commit(due, worker, stop) }
    }

    // MARK: Assignment

    private func settleAssignment(
        _ worker: any LogWorker, _ stop: StopSignal
    ) throws(LogFault) {
        let wait = groups.isEmpty ? Self.waitMaxMilliseconds : 0
        guard
            let change = try retrying(
                stop, "join",
                { () throws(LogFault) in
                    try worker.pollAssignment(waitMilliseconds: Int(wait))
                })
        else { return }
        switch change {
        case .assigned(let partitions):
            for partition in partitions.sorted() { try take(partition, worker, stop) }
            logger.info(
                "partitions assigned",
                ["lane": LogValue(lane), "partitions": .text(Self.list(partitions))])
        case .revoked(let partitions):
            let leaving = partitions.compactMap { groups[$0] }
            try commit(leaving.filter(\.isOpen), worker, stop)
            for partition in partitions { groups[partition] = nil }
            logger.info(
                "partitions revoked",
                ["lane": LogValue(lane), "partitions": .text(Self.list(partitions))])
        case nil: assignmentWaits = false
        }
    }

    private func take(
        _ partition: Int, _ worker: any LogWorker, _ stop: StopSignal
    ) throws(LogFault) {
        let restore = Restore(
            log: log, partition: partition, policies: settings.policies, limits: settings.limits,
            logger: logger)
        let group = try retrying(
            stop, "restore",
            { () throws(LogFault) in
                let committed = try worker.committedPositions(partition: partition)
                let group = try restore.run(committed: committed)
                try worker.start(partition: partition, at: group.positions)
                return group
            })
        guard let group else { return }
        groups[partition] = group
        tallies[partition] = group.evaluator.tallies
        let now = SystemClock.monotonicMilliseconds()
        committedAt[partition] = now
        // Spread over the interval, so that not all snapshots fall into one commit.
        let share = Int64(partition % log.partitions) * settings.snapshotMilliseconds
        snapshotAt[partition] = now - share / Int64(log.partitions)
    }

    private func leave(_ worker: any LogWorker, _ stop: StopSignal) throws(LogFault) {
        let all = groups.values.sorted { $0.partition < $1.partition }
        guard !all.isEmpty else { return }
        try commit(all, worker, stop, withSnapshots: all.filter { $0.evaluator.appCount > 0 })
        // An epoch can point to earlier snapshots only, so one more follows.
        try commit(all, worker, stop)
    }

    private static func list(_ partitions: [Int]) -> String {
        partitions.sorted().map(String.init).joined(separator: ",")
    }

    // MARK: Epochs

    private func groupsToCommit(isLive: Bool) -> [PartitionGroup] {
        let now = SystemClock.monotonicMilliseconds()
        let tick = settings.policies[0].tickMilliseconds
        let isDue = groups.values.contains { group in
            let age = now - (committedAt[group.partition] ?? 0)
            if group.isOpen {
                return age >= settings.epochMilliseconds
                    || group.decisions.changes.count >= Self.changesMax
                    || isLive && (!group.decisions.isEmpty || group.hasPassedTick(of: tick))
            }
            return age >= settings.heartbeatMilliseconds
        }
        guard isDue else { return [] }
        return groups.values.filter { group in
            group.isOpen
                || now - (committedAt[group.partition] ?? 0) >= settings.heartbeatMilliseconds / 2
        }
    }

    private func commit(
        _ due: [PartitionGroup], _ worker: any LogWorker, _ stop: StopSignal
    ) throws(LogFault) {
        let now = SystemClock.monotonicMilliseconds()
        let next = due.first { group in
            now - (snapshotAt[group.partition] ?? now) >= settings.snapshotMilliseconds
                && group.evaluator.tallies.events > tallies[group.partition]?.events ?? 0
        }
        try commit(due, worker, stop, withSnapshots: next.map { [$0] } ?? [])
    }

    private func commit(
        _ due: [PartitionGroup], _ worker: any LogWorker, _ stop: StopSignal,
        withSnapshots: [PartitionGroup]
    ) throws(LogFault) {
        guard !due.isEmpty else { return }
        let due = due.sorted { $0.partition < $1.partition }
        let commits = due.map { group in
            EpochCommit(
                of: group, generation: worker.generation, policies: settings.policies,
                withSnapshot: withSnapshots.contains { $0 === group })
        }
        let outputs = commits.flatMap(\.outputs)
        var positions: [TopicPartition: Int64] = [:]
        for group in due { positions.merge(group.positions) { $1 } }
        let begun = SystemClock.monotonicNanoseconds()
        let places = positions
        let ends = try retrying(
            stop, "commit", isPatient: true,
            { () throws(LogFault) in
                try worker.commit(outputs, positions: places)
            })
        guard let ends else {
            throw LogFault(
                "commit", at: log.place, reason: "the log did not answer while stopping",
                hint: "nothing is lost: the epoch will be counted again", remedy: .stop)
        }
        metrics.committed(seconds: Double(SystemClock.monotonicNanoseconds() - begun) / 1e9)
        let now = SystemClock.monotonicMilliseconds()
        let wall = SystemClock.wallMilliseconds()
        for (group, epoch) in zip(due, commits) {
            metrics.note(group, since: tallies[group.partition] ?? Tallies(), wall: wall)
            tallies[group.partition] = group.evaluator.tallies
            epoch.close(group, ends: ends)
            committedAt[group.partition] = now
        }
        for group in withSnapshots { snapshotAt[group.partition] = now }
    }

    // MARK: Waiting

    /// Until the next tick with something to decide, or the next commit, is due.
    private func waitMilliseconds() -> Int {
        let now = SystemClock.monotonicMilliseconds()
        let wall = SystemClock.wallMilliseconds()
        var wait = Self.waitMaxMilliseconds
        for group in groups.values {
            let patience =
                group.isOpen ? settings.epochMilliseconds : settings.heartbeatMilliseconds
            wait = min(wait, (committedAt[group.partition] ?? now) + patience - now)
            if let tick = group.evaluator.nextTick {
                wait = min(wait, tick + settings.idleLagMilliseconds - wall)
            }
        }
        return Int(max(0, wait))
    }

    /// Repeats a call while the log may come back; nil when asked to stop meanwhile. A patient call
    /// is given some more time after that.
    private func retrying<Value>(
        _ stop: StopSignal, _ operation: String, isPatient: Bool = false,
        _ body: () throws(LogFault) -> Value
    ) throws(LogFault) -> Value? {
        var pause = Self.retryFirstMilliseconds
        var stoppedAt: Int64?
        while true {
            do throws(LogFault) {
                return try body()
            } catch {
                guard error.remedy == .retry else { throw error }
                metrics.fault(operation)
                logger.warning("the log failed, trying again", ["fault": LogValue(error)])
            }
            if stop.wait(milliseconds: pause) {
                pauses.wait(milliseconds: pause)
                let now = SystemClock.monotonicMilliseconds()
                let since = stoppedAt ?? now
                stoppedAt = since
                guard isPatient, now - since < Self.stopPatienceMilliseconds else { return nil }
            }
            pause = min(2 * pause, Self.retryMaxMilliseconds)
        }
    }
}
