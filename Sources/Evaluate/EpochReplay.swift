// Counting the epochs of a partition again, one by one, as its topic tells them.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Feeds a group with what the inputs hold, epoch by epoch. One thread owns it; `close` ends it.
final class EpochReplay {
    private let log: any EventLog
    let group: PartitionGroup
    private let base: Policy
    private let scan: LogScan
    private let control: ControlFeed
    private let decoder = EventDecoder()
    /// By input, the offset before which ids of all events are in the checksums.
    private let allIDsBefore: [Int64]
    /// By input, the append time of the first record read.
    private(set) var firstAppends: [Int64?] = EventType.allCases.map { _ in nil }

    /// Begins where the scan does: at the end offsets of the epoch before the first to be counted.
    /// `control` may be of others, too; `base` is the policy of apps that people have not assigned
    /// another, `epochs` are those to be counted.
    init(
        _ log: any EventLog, _ group: PartitionGroup, _ scan: LogScan, _ control: ControlFeed,
        base: Policy, epochs: [EpochRecord]
    ) {
        self.log = log
        self.group = group
        self.scan = scan
        self.base = base
        self.control = control
        let old = epochs.last { $0.checksumIDs == .all }?.offsets ?? EpochRecord.Offsets()
        allIDsBefore = EventType.allCases.map { old[$0] }
    }

    /// A scan of the inputs of a partition.
    static func scan(
        of partition: Int, in log: any EventLog, from start: EpochRecord.Offsets
    ) throws(LogFault) -> LogScan {
        var positions: [TopicPartition: Int64] = [:]
        for type in EventType.allCases { positions[place(type, partition)] = start[type] }
        return try LogScan(log, from: positions)
    }

    /// Counts one epoch, and checks that it comes out as it did; waits for the log.
    func count(_ epoch: EpochRecord) throws(LogFault) {
        while try count(epoch, waitMilliseconds: LogScan.pollMilliseconds) != .done {}
    }

    /// Counts a piece of one epoch, and checks that it comes out as it did.
    func count(_ epoch: EpochRecord, waitMilliseconds: Int) throws(LogFault) -> Piece {
        try adopt(upTo: epoch)
        let piece = try count(
            upTo: epoch.offsets, clock: epoch.clock, waitMilliseconds: waitMilliseconds)
        guard piece == .done else { return piece }
        guard group.evaluator.checksum == epoch.checksum else { throw differs(epoch) }
        return .done
    }

    /// Counts a piece of what lies before these offsets, and moves the clock when that is done.
    /// Reads an input only when the merge cannot go on without it, so that no more than a piece of
    /// each waits in memory.
    func count(
        upTo ends: EpochRecord.Offsets, clock: Int64, waitMilliseconds: Int
    ) throws(LogFault) -> Piece {
        let ends = EventType.allCases.map { ends[$0] }
        guard let input = group.recount(upTo: ends, clock: clock) else { return .done }
        let type = EventType.allCases[input]
        let piece = try scan.next(
            of: Self.place(type, group.partition), waitMilliseconds: waitMilliseconds
        ) { records in
            if firstAppends[input] == nil { firstAppends[input] = records.first?.append }
            take(records, as: type)
        }
        guard piece != .done else {
            throw LogFault(
                "replay", at: "partition \(group.partition) of \(log.place)",
                reason: "the inputs end before the epochs that were made of them",
                hint: "was the log replaced or cut?", remedy: .stop)
        }
        return piece
    }

    /// Decodes records as those have who counted them first.
    private func take(_ records: ArraySlice<LogRecord>, as type: EventType) {
        let end = allIDsBefore[Int(type.rawValue)]
        let old = records.prefix { $0.offset < end }
        for (part, ids) in [(old, HashedIDs.all), (records.dropFirst(old.count), .counted)] {
            decoder.hashedIDs = ids
            group.take(part, as: type, with: decoder)
        }
    }

    /// The fault of an epoch that comes out otherwise.
    func differs(_ epoch: EpochRecord) -> LogFault {
        LogFault(
            "replay", at: "partition \(group.partition) of \(log.place)",
            reason: "counted again, epoch \(epoch.number) has another checksum",
            hint: "the inputs are not those it was made of, or the policy is another one of "
                + "the same version: was the log replaced or cut, the policy edited?",
            remedy: .stop)
    }

    func close() {
        scan.close()
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
