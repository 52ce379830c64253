// One thread's work: read, count, decide, commit, for the partitions that the group gives it.

import BrakeEngine
import BrakeModel
import BrakeWire
package import EventLog
package import Runtime

/// A member of the group of evaluators. It pulls: it polls only when it can finish a batch, so a
/// slow log or a slow lane slows reading and nothing else. Its groups' memory is never rewound:
/// what an epoch publishes stays until the log has it.
///
/// `run` is `step` in a loop. A step that throws a fault to be retried has lost nothing: the next
/// one first does what this one has left undone.
package final class EvaluatorLane {
    private static let waitMaxMilliseconds = 1_000
    private static let retryFirstMilliseconds = 50
    private static let retryMaxMilliseconds = 2_000
    /// How long a stop may wait for a log that does not answer.
    private static let stopPatienceMilliseconds: Int64 = 5_000

    private let log: any EventLog
    private let lane: Int
    private let settings: EvaluateSettings
    private let logger: Logger
    private let metrics: EvaluateMetrics
    private let clocks: Clocks
    private let decoder = EventDecoder()
    private let batch = LogBatch()
    private let control: ControlFeed
    private var controlReadAt = Int64.min
    /// Whether control has been read to the end that it had when the lane began.
    private var knowsControl = false
    private var worker: (any LogWorker)?
    private var groups: [Int: PartitionGroup] = [:]
    private var tallies: [Int: Tallies] = [:]
    private var schedule: LaneSchedule
    /// Until the log has said that no change waits: what is revoked is given away by asking again.
    private var assignmentWaits = true
    /// Assigned, but not restored yet.
    private let restores: LaneRestores
    /// Revoked, and given up once what is open of them is committed.
    private var leaving: [Int] = []
    /// Handed to the log, which has not confirmed it: nothing else happens before it has.
    private var pending: LaneCommit?
    /// How many of its last commits it has begun.
    private var farewells = 0

    package init(
        log: any EventLog, lane: Int, settings: EvaluateSettings, logger: Logger,
        metrics: EvaluateMetrics, clocks: Clocks = .system
    ) {
        self.log = log
        self.lane = lane
        self.settings = settings
        self.logger = logger
        self.metrics = metrics
        self.clocks = clocks
        control = ControlFeed(log: log)
        schedule = LaneSchedule(settings)
        restores = LaneRestores(
            lane: lane,
            Restore.Setting(
                log: log, policy: settings.policy, limits: settings.limits, logger: logger,
                clocks: clocks), settings, metrics, clocks)
    }

    /// Works until asked to stop; then commits what is counted, with a snapshot, and leaves.
    package func run(stop: StopSignal) throws(LogFault) {
        defer { close() }
        var pause = Self.retryFirstMilliseconds
        while !stop.isRequested {
            do throws(LogFault) {
                try step(waitMilliseconds: Self.waitMaxMilliseconds)
                pause = Self.retryFirstMilliseconds
            } catch {
                try note(error)
                stop.wait(milliseconds: pause)
                pause = min(2 * pause, Self.retryMaxMilliseconds)
            }
        }
        try leavePatiently()
    }

    /// Does the next piece of work: waits for input no longer than this.
    package func step(waitMilliseconds: Int) throws(LogFault) {
        try finishCommit()
        guard try learnControl(waitMilliseconds: waitMilliseconds) else { return }
        let worker = try joined()
        if assignmentWaits || groups.isEmpty && restores.isEmpty {
            try settleAssignment(worker, waitMilliseconds: groups.isEmpty ? waitMilliseconds : 0)
        }
        // A piece at a time: the partitions that are restored already do not wait for all others,
        // and the group hears from this member.
        if !restores.isEmpty { try restore(worker) }
        if groups.isEmpty && restores.isEmpty { return }
        try followControl(worker)
        try read(
            worker, waitMilliseconds: min(waitMilliseconds, restores.othersMayWaitMilliseconds))
        let groups = orderedGroups
        try commit(groups.filter(\.mustCut), worker)
        for group in groups {
            group.count()
            group.followWallClock(idleLag: settings.idleLagMilliseconds)
        }
        let due = schedule.groupsToCommit(groups, now: clocks.monotonicMilliseconds())
        try commit(due, worker)
    }

    /// Commits what is counted, with a snapshot; to be called again after a fault to be retried.
    package func leave() throws(LogFault) {
        try finishCommit()
        guard let worker else { return }
        // An epoch can point to earlier snapshots only, so one more follows.
        while farewells < 2 {
            farewells += 1
            let all = orderedGroups
            try commit(all, worker, snapshots: farewells > 1 ? [] : all)
        }
    }

    /// Leaves the group; nothing else is called after this.
    package func close() {
        worker?.close()
        worker = nil
        control.close()
    }

    /// Events read that wait for other inputs, of all its partitions.
    package var eventsWaiting: Int { groups.values.reduce(0) { $0 + $1.eventsWaiting } }

    /// In order of partition, so that nothing depends on the order of a table.
    private var orderedGroups: [PartitionGroup] {
        groups.values.sorted { $0.partition < $1.partition }
    }

    /// Reads what people have decided before anything is counted, or first epochs would be decided
    /// as if nobody had. False while the log has not shown its end.
    private func learnControl(waitMilliseconds: Int) throws(LogFault) -> Bool {
        // What is there is asked for first: at the end, waiting for more would be in vain.
        var wait = 0
        while !knowsControl {
            switch try control.step(waitMilliseconds: wait) {
            case .done: knowsControl = true
            case .more: wait = 0
            case .waiting where wait < waitMilliseconds: wait = waitMilliseconds
            case .waiting: return false
            }
        }
        return true
    }

    /// Takes over what people have decided, between two epochs of each partition.
    private func followControl(_ worker: any LogWorker) throws(LogFault) {
        let now = clocks.monotonicMilliseconds()
        if now - settings.controlMilliseconds >= controlReadAt {
            control.goOn()
            while try control.step(waitMilliseconds: 0) == .more {}
            controlReadAt = now
        }
        let behind = orderedGroups.filter { $0.controlEnd < control.ledger.end }
        guard !behind.isEmpty else { return }
        try commit(behind.filter(\.hasMoved), worker)
        for group in behind {
            group.adopt(control.ledger, base: settings.policy, partitions: log.partitions)
        }
        logger.info(
            "decisions of people taken over",
            [
                "lane": LogValue(lane), "partitions": LogValue(behind.count),
                "control_end": LogValue(Int(control.ledger.end)),
            ])
    }

    private func read(_ worker: any LogWorker, waitMilliseconds: Int) throws(LogFault) {
        worker.held = Set(groups.values.flatMap(\.heldInputs))
        let wait = schedule.waitMilliseconds(
            orderedGroups, atMost: min(waitMilliseconds, Int(settings.controlMilliseconds)),
            now: clocks.monotonicMilliseconds(),
            wall: clocks.wallMilliseconds())
        let outcome = try worker.poll(into: batch, waitMilliseconds: wait)
        if outcome.assignmentWaits { assignmentWaits = true }
        batch.forEachRun { place, records in
            guard let type = place.topic.eventType else { return }
            groups[place.partition]?.take(records, as: type, with: decoder)
        }
        batch.reset()
        for group in groups.values { group.note(outcome) }
    }

    // MARK: Assignment

    private func joined() throws(LogFault) -> any LogWorker {
        if let worker { return worker }
        let worker = try log.makeWorker(lane: lane)
        self.worker = worker
        return worker
    }

    /// Takes and gives partitions until no change waits. What is revoked belongs to this lane until
    /// it asks again, so it asks again before it does anything else.
    private func settleAssignment(
        _ worker: any LogWorker, waitMilliseconds: Int
    ) throws(LogFault) {
        var wait = waitMilliseconds
        assignmentWaits = true
        while let change = try worker.pollAssignment(waitMilliseconds: wait) {
            wait = 0
            switch change {
            case .assigned(let partitions):
                restores.add(partitions)
                log("partitions assigned", partitions)
            case .revoked(let partitions):
                leaving = partitions
                let open = partitions.compactMap { groups[$0] }.filter(\.isOpen)
                log("partitions revoked", partitions)
                try commit(open, worker)
                forgetLeaving()
            }
        }
        assignmentWaits = false
    }

    private func restore(_ worker: any LogWorker) throws(LogFault) {
        guard let group = try restores.step(worker, isAlone: groups.isEmpty) else { return }
        groups[group.partition] = group
        tallies[group.partition] = group.evaluator.tallies
        schedule.add(group, partitions: log.partitions, now: clocks.monotonicMilliseconds())
    }

    private func forgetLeaving() {
        for partition in leaving {
            if let group = groups.removeValue(forKey: partition) { restores.keep(group) }
            tallies[partition] = nil
            schedule.remove(partition)
        }
        restores.remove(leaving)
        leaving.removeAll()
    }

    private func log(_ message: StaticString, _ partitions: [Int]) {
        let list = partitions.sorted().map(String.init).joined(separator: ",")
        logger.info(message, ["lane": LogValue(lane), "partitions": .text(list)])
    }

    // MARK: Epochs

    private func commit(_ due: [PartitionGroup], _ worker: any LogWorker) throws(LogFault) {
        let next = schedule.groupToSnapshot(due, now: clocks.monotonicMilliseconds())
        try commit(due, worker, snapshots: next.map { [$0] } ?? [])
    }

    private func commit(
        _ due: [PartitionGroup], _ worker: any LogWorker, snapshots: [PartitionGroup]
    ) throws(LogFault) {
        guard !due.isEmpty else { return }
        pending = LaneCommit(
            of: due, generation: worker.generation, snapshots: snapshots)
        try finishCommit()
    }

    /// Hands the pending commit to the log, if there is one, until the log has it.
    private func finishCommit() throws(LogFault) {
        guard let commit = pending, let worker else { return }
        let begun = clocks.monotonicNanoseconds()
        let ends = try worker.commit(commit.outputs, positions: commit.positions)
        metrics.committed(seconds: Double(clocks.monotonicNanoseconds() - begun) / 1e9)
        pending = nil
        let now = clocks.monotonicMilliseconds()
        let wall = clocks.wallMilliseconds()
        for group in commit.groups {
            metrics.note(group, since: tallies[group.partition] ?? Tallies(), wall: wall)
            tallies[group.partition] = group.evaluator.tallies
            schedule.noteCommit(of: group, withSnapshot: commit.hasSnapshot(of: group), now: now)
        }
        commit.close(ends: ends)
        forgetLeaving()
    }

    // MARK: Faults

    /// Tells of a fault after which the same is tried again; throws any other.
    private func note(_ fault: LogFault) throws(LogFault) {
        guard fault.remedy == .retry else { throw fault }
        metrics.fault(fault.operation)
        logger.warning("the log failed, trying again", ["fault": LogValue(fault)])
    }

    private func leavePatiently() throws(LogFault) {
        let begun = clocks.monotonicMilliseconds()
        // Never requested: to pause on, while the lane itself has been asked to stop.
        let pauses = StopSignal()
        var pause = Self.retryFirstMilliseconds
        while true {
            do throws(LogFault) {
                return try leave()
            } catch {
                try note(error)
            }
            guard clocks.monotonicMilliseconds() - begun < Self.stopPatienceMilliseconds else {
                throw LogFault(
                    "commit", at: log.place, reason: "the log did not answer while stopping",
                    hint: "nothing is lost: the epoch will be counted again", remedy: .stop)
            }
            pauses.wait(milliseconds: pause)
            pause = min(2 * pause, Self.retryMaxMilliseconds)
        }
    }
}
