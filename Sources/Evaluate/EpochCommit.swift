// What one epoch of one partition puts into the log.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// The outputs of an epoch, in the order in which they are appended, and what follows from their
/// places in the log once they are there.
struct EpochCommit {
    let outputs: [OutgoingRecord]
    private let partition: Int
    private let record: EpochRecord
    private let snapshot: EpochRecord.SnapshotPointer?

    /// Closes over the group's open epoch; nothing in the group changes before the commit.
    init(of group: PartitionGroup, generation: Int64, withSnapshot: Bool) {
        partition = group.partition
        let number = group.number + 1
        var outputs: [OutgoingRecord] = []
        for change in group.decisions.changes {
            outputs.append(
                OutgoingRecord(
                    .throttle, partition: partition, key: Array(change.app.text.utf8),
                    value: ThrottleRecord(change: change, partition: partition, epoch: number)
                        .encode()))
        }
        for change in group.decisions.stress {
            outputs.append(
                OutgoingRecord(
                    .stress, partition: partition, key: Array(change.app.text.utf8),
                    value: change.index.map {
                        StressRecord(index: $0, partition: group.partition, epoch: number).encode()
                    }))
        }
        for notice in group.decisions.notices {
            outputs.append(
                OutgoingRecord(
                    .notice, partition: 0, key: notice.app.map { Array($0.text.utf8) },
                    value: notice.encode()))
        }
        for letter in group.letters {
            outputs.append(OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode()))
        }
        var pointer: EpochRecord.SnapshotPointer?
        if withSnapshot {
            let image = group.evaluator.snapshot()
            let chunks = SnapshotChunks.cut(image, partition: partition, epoch: number)
            for chunk in chunks {
                outputs.append(
                    OutgoingRecord(.snapshot, partition: partition, key: nil, value: chunk))
            }
            pointer = .init(epoch: number, offset: 0, chunks: chunks.count, bytes: image.count)
        }
        snapshot = pointer
        record = Self.record(of: group, number, generation)
        outputs.append(
            OutgoingRecord(.epoch, partition: partition, key: nil, value: record.encode()))
        self.outputs = outputs
    }

    private static func record(
        of group: PartitionGroup, _ number: Int64, _ generation: Int64
    ) -> EpochRecord {
        var offsets = EpochRecord.Offsets()
        for type in EventType.allCases {
            offsets[type] = group.queues[Int(type.rawValue)].position
        }
        offsets.control = group.controlEnd
        return EpochRecord(
            number: number, generation: generation, partition: group.partition,
            clock: group.evaluator.clock, offsets: offsets,
            policies: group.policyVersions,
            appsMax: group.evaluator.appsMax,
            changes: group.decisions.changes.count,
            tightenings: group.decisions.tightenings, checksum: group.evaluator.checksum,
            snapshots: group.snapshots, throttleEnd: group.throttleEnd)
    }

    /// Moves the group past the epoch, once the log has it; `ends` as the commit has told them.
    func close(_ group: PartitionGroup, ends: [TopicPartition: Int64]) {
        if let end = ends[TopicPartition(.throttle, partition)] { group.throttleEnd = end }
        if var snapshot, let end = ends[TopicPartition(.snapshot, partition)] {
            snapshot.offset = end - Int64(snapshot.chunks)
            group.snapshots.insert(snapshot, at: 0)
            if group.snapshots.count > EpochRecord.snapshotsMax { group.snapshots.removeLast() }
        }
        group.lastEpoch = record
        group.closeEpoch()
    }
}
