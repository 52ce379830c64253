// Counting the epochs of a partition again, one by one, as its topic tells them.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Feeds a group with what the inputs hold, epoch by epoch. One thread owns it; `close` ends it.
final class EpochReplay {
    private let log: any EventLog
    private let group: PartitionGroup
    private let scan: LogScan
    private let decoder = EventDecoder()

    /// Begins at the end offsets of the epoch before the first to be counted.
    init(
        log: any EventLog, group: PartitionGroup, from start: EpochRecord.Offsets
    ) throws(LogFault) {
        self.log = log
        self.group = group
        var positions: [TopicPartition: Int64] = [:]
        for type in EventType.allCases {
            positions[Self.place(type, group.partition)] = start[type]
        }
        scan = try LogScan(log, from: positions)
    }

    /// Counts one epoch, and checks that it comes out as it did.
    func count(_ epoch: EpochRecord) throws(LogFault) {
        try count(upTo: epoch.offsets, clock: epoch.clock)
        guard group.evaluator.checksum == epoch.checksum else {
            throw LogFault(
                "replay", at: "partition \(group.partition) of \(log.place)",
                reason: "counted again, epoch \(epoch.number) has another checksum",
                hint: "the inputs are not those it was made of: was the log replaced or cut?",
                remedy: .stop)
        }
    }

    /// Counts what lies before these offsets, then moves the clock.
    func count(upTo ends: EpochRecord.Offsets, clock: Int64) throws(LogFault) {
        while EventType.allCases.contains(where: {
            scan.position(Self.place($0, group.partition)) < ends[$0]
        }) {
            let more = try scan.next { record in
                if let type = EventType(name: record.topic.name) {
                    group.take(record, as: type, with: decoder)
                }
            }
            guard more else {
                throw LogFault(
                    "replay", at: "partition \(group.partition) of \(log.place)",
                    reason: "the inputs end before the epochs that were made of them",
                    hint: "was the log replaced or cut?", remedy: .stop)
            }
        }
        group.recount(upTo: EventType.allCases.map { ends[$0] }, clock: clock)
    }

    func close() { scan.close() }

    private static func place(_ type: EventType, _ partition: Int) -> TopicPartition {
        TopicPartition(Topic.inputs[Int(type.rawValue)], partition)
    }
}
