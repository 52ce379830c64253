// Decides over a log again: what was decided, epoch by epoch, or what another policy would have.

package import BrakeEngine
import BrakeModel
import BrakeWire
package import EventLog

/// Replays the inputs of a log, all partitions, and gives the throttle records in order of tick,
/// then app. Reads only: nothing is written into the log.
///
/// Under the policy that the log was decided by, a partition follows its `epoch` topic, bit for
/// bit, and every epoch's checksum is compared. Under another one the clock moves by append time,
/// as it would over a file.
package struct LogReplay {
    private let log: any EventLog
    private let policy: Policy
    private let limits: EvaluatorLimits
    private let range: Range<Int64>

    /// Throttle records of ticks outside the range are left out.
    package init(
        log: any EventLog, policy: Policy, limits: EvaluatorLimits,
        range: Range<Int64> = 0..<Int64.max
    ) {
        self.log = log
        self.policy = policy
        self.limits = limits
        self.range = range
    }

    /// What a replay gave, and how it went.
    package struct Outcome {
        /// The throttle records as NDJSON.
        package fileprivate(set) var output: [UInt8] = []
        package fileprivate(set) var records = 0
        /// Epochs whose checksum was compared.
        package fileprivate(set) var epochs = 0
        /// Partitions that went by append time, as another policy or none has decided them.
        package fileprivate(set) var partitionsByTime = 0
    }

    /// Runs it. `progress` hears of each partition that is done.
    package func run(progress: (Int) -> Void = { _ in }) throws(LogFault) -> Outcome {
        var outcome = Outcome()
        var records: [ThrottleRecord] = []
        let control = ControlFeed(log: log, isRewindable: true)
        defer { control.close() }
        for partition in 0..<log.partitions {
            if let last = try EpochHistory.last(of: partition, in: log),
                try isDecided(last, control)
            {
                outcome.epochs += try replay(partition, upTo: last, control, into: &records)
            } else {
                outcome.partitionsByTime += 1
                try replayAppendTimes(partition, into: &records)
            }
            progress(partition)
        }
        records.sort { ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app) }
        for record in records where range.contains(record.change.since) {
            outcome.output += record.encode()
            outcome.output.append(UInt8(ascii: "\n"))
            outcome.records += 1
        }
        return outcome
    }

    /// Whether an epoch was decided by this policy, and by what people had decided besides.
    private func isDecided(
        _ epoch: EpochRecord, _ control: ControlFeed
    ) throws(LogFault) -> Bool {
        try control.advance(to: epoch.offsets.control)
        let controls = control.ledger.controls(base: policy) { _ in false }
        return PartitionGroup.versions(of: controls.policies) == epoch.policies
    }

    /// Returns the count of epochs.
    private func replay(
        _ partition: Int, upTo last: EpochRecord, _ control: ControlFeed,
        into records: inout [ThrottleRecord]
    ) throws(LogFault) -> Int {
        let epochs = try EpochHistory(of: partition, from: 1, upTo: last, in: log).all()
        let start = try firstOffsets(partition)
        guard epochs.first?.number == 1, EventType.allCases.allSatisfy({ start[$0] == 0 }) else {
            throw LogFault(
                "replay", at: "partition \(partition) of \(log.place)",
                reason: "its first epochs or inputs have been deleted by retention",
                hint: "a policy of another name or version is replayed by append time",
                remedy: .stop)
        }
        let group = makeGroup(partition, at: start)
        let scan = try EpochReplay.scan(of: partition, in: log, from: start)
        let replay = EpochReplay(log, group, scan, control, base: policy, epochs: epochs)
        defer { replay.close() }
        for epoch in epochs {
            try replay.count(epoch)
            take(group, epoch: epoch.number, into: &records)
        }
        return epochs.count
    }

    private func replayAppendTimes(
        _ partition: Int, into records: inout [ThrottleRecord]
    ) throws(LogFault) {
        let start = try firstOffsets(partition)
        let group = makeGroup(partition, at: start)
        let reader = try log.makeReader(from: group.positions)
        defer { reader.close() }
        let batch = LogBatch()
        let decoder = EventDecoder()
        var isMore = true
        while isMore {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 200)
            batch.forEachRun { place, records in
                if let type = place.topic.eventType {
                    group.take(records, as: type, with: decoder)
                }
            }
            isMore = !batch.records.isEmpty || outcome.ended.count < Topic.inputs.count
            group.note(outcome)
            group.count()
            take(group, epoch: 0, into: &records)
        }
    }

    private func take(
        _ group: PartitionGroup, epoch: Int64, into records: inout [ThrottleRecord]
    ) {
        records += group.decisions.changes.map {
            ThrottleRecord(change: $0, partition: group.partition, epoch: epoch)
        }
        group.dropOutputs()
    }

    private func makeGroup(_ partition: Int, at start: EpochRecord.Offsets) -> PartitionGroup {
        PartitionGroup(
            partition: partition, evaluator: Evaluator(policy: policy, limits: limits),
            positions: EventType.allCases.map { start[$0] }, controlEnd: 0, number: 0,
            snapshots: [], throttleEnd: 0)
    }

    private func firstOffsets(_ partition: Int) throws(LogFault) -> EpochRecord.Offsets {
        var offsets = EpochRecord.Offsets()
        for type in EventType.allCases {
            let place = TopicPartition(Topic(type), partition)
            offsets[type] = try log.bounds(of: place).lowerBound
        }
        return offsets
    }
}
