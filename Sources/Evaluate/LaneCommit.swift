// One commit of a lane: the open epochs of several partitions, atomically.

import EventLog

/// What is handed to the log, the same again and again until the log has it.
struct LaneCommit {
    /// In order of partition.
    let groups: [PartitionGroup]
    let outputs: [OutgoingRecord]
    let positions: [TopicPartition: Int64]
    private let epochs: [EpochCommit]
    private let snapshotted: Set<Int>

    /// Closes over the groups' open epochs; nothing in the groups changes before `close`.
    init(
        of due: [PartitionGroup], generation: Int64, snapshots: [PartitionGroup]
    ) {
        let groups = due.sorted { $0.partition < $1.partition }
        let snapshotted = Set(snapshots.map(\.partition))
        epochs = groups.map { group in
            EpochCommit(
                of: group, generation: generation,
                withSnapshot: snapshotted.contains(group.partition))
        }
        outputs = epochs.flatMap(\.outputs)
        positions = groups.reduce(into: [:]) { $0.merge($1.positions) { $1 } }
        self.groups = groups
        self.snapshotted = snapshotted
    }

    func hasSnapshot(of group: PartitionGroup) -> Bool { snapshotted.contains(group.partition) }

    /// Moves the groups past their epochs, once the log has them.
    func close(ends: [TopicPartition: Int64]) {
        for (group, epoch) in zip(groups, epochs) { epoch.close(group, ends: ends) }
    }
}
