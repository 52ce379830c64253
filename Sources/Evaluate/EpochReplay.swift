// Counting the epochs of a partition again, one by one, as its topic tells them.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Feeds a group with what the inputs hold, epoch by epoch. One thread owns it; `close` ends it.
final class EpochReplay {
    private let log: any EventLog
    private let group: PartitionGroup
    private let base: Policy
    private let scan: LogScan
    private let control: ControlFeed
    private let decoder = EventDecoder()
    /// By input, the append time of the first record read.
    private(set) var firstAppends: [Int64?] = EventType.allCases.map { _ in nil }

    /// Begins at the end offsets of the epoch before the first to be counted. `base` is the policy
    /// of apps that people have not assigned another.
    init(
        log: any EventLog, group: PartitionGroup, from start: EpochRecord.Offsets, base: Policy
    ) throws(LogFault) {
        self.log = log
        self.group = group
        self.base = base
        control = ControlFeed(log: log)
        var positions: [TopicPartition: Int64] = [:]
        for type in EventType.allCases {
            positions[Self.place(type, group.partition)] = start[type]
        }
        scan = try LogScan(log, from: positions)
    }

    /// Counts one epoch, and checks that it comes out as it did.
    func count(_ epoch: EpochRecord) throws(LogFault) {
        try adopt(upTo: epoch)
        try count(upTo: epoch.offsets, clock: epoch.clock)
        guard group.evaluator.checksum == epoch.checksum else {
            throw LogFault(
                "replay", at: "partition \(group.partition) of \(log.place)",
                reason: "counted again, epoch \(epoch.number) has another checksum",
                hint: "the inputs are not those it was made of, or the policy is another one of "
                    + "the same version: was the log replaced or cut, the policy edited?",
                remedy: .stop)
        }
    }

    /// Counts what lies before these offsets, then moves the clock. Reads an input only when the
    /// merge cannot go on without it, so that no more than a piece of each waits in memory.
    func count(upTo ends: EpochRecord.Offsets, clock: Int64) throws(LogFault) {
        let ends = EventType.allCases.map { ends[$0] }
        while let input = group.recount(upTo: ends, clock: clock) {
            let type = EventType.allCases[input]
            let more = try scan.next(of: Self.place(type, group.partition)) { records in
                if firstAppends[input] == nil { firstAppends[input] = records.first?.append }
                group.take(records, as: type, with: decoder)
            }
            guard more else {
                throw LogFault(
                    "replay", at: "partition \(group.partition) of \(log.place)",
                    reason: "the inputs end before the epochs that were made of them",
                    hint: "was the log replaced or cut?", remedy: .stop)
            }
        }
    }

    func close() {
        scan.close()
        control.close()
    }

    /// Takes over what people had decided when the epoch began.
    private func adopt(upTo epoch: EpochRecord) throws(LogFault) {
        if epoch.offsets.control > group.controlEnd {
            try control.advance(to: epoch.offsets.control)
            group.adopt(control.ledger, base: base, partitions: log.partitions)
        }
        guard group.policyVersions == epoch.policies else {
            throw LogFault(
                "replay", at: "partition \(group.partition) of \(log.place)",
                reason: "epoch \(epoch.number) was decided by another policy than this",
                hint: "a policy of another name or version is replayed by append time",
                remedy: .stop)
        }
    }

    private static func place(_ type: EventType, _ partition: Int) -> TopicPartition {
        TopicPartition(Topic(type), partition)
    }
}
