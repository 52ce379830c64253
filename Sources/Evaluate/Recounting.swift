// Counting what a restore has to count, and what came of it.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Counts epochs of a partition again: with the decisions that were made then, or without, when
/// they cannot be made as they were. One thread owns it; `close` ends it.
final class Recounting {
    /// How epochs are counted without decisions.
    struct WithoutDecisions {
        /// Whether the windows hold all they should from the beginning.
        var isFromSnapshot: Bool
        /// Whether what was counted then is what is counted now, so that sums can be compared.
        var isComparable: Bool
    }

    private let epochs: [EpochRecord]
    private let replay: EpochReplay
    private let start: EpochRecord.Offsets
    private let withoutDecisions: WithoutDecisions?
    private var next = 0
    private var previous: EpochRecord?
    /// Before the epoch that is being counted.
    private var checksumBefore: UInt64
    /// Epochs whose checksum was compared.
    private(set) var epochsCompared = 0
    /// Offsets of the inputs between its beginning and the last epoch's end.
    let records: Int64

    /// `epochs`: at least one, in order.
    init(
        _ epochs: [EpochRecord], _ replay: EpochReplay, from start: EpochRecord.Offsets,
        withoutDecisions: WithoutDecisions? = nil
    ) {
        self.epochs = epochs
        self.replay = replay
        self.start = start
        self.withoutDecisions = withoutDecisions
        checksumBefore = replay.group.evaluator.checksum
        let last = epochs[epochs.count - 1].offsets
        records = EventType.allCases.reduce(0) { $0 + last[$1] - start[$1] }
    }

    var group: PartitionGroup { replay.group }
    var epochsCounted: Int { next }

    /// Offsets of the inputs that have been counted.
    var recordsCounted: Int64 {
        EventType.allCases.reduce(0) { sum, type in
            sum + group.queues[Int(type.rawValue)].position - start[type]
        }
    }

    /// Counts a piece; after the last one the group stands where the last epoch left it.
    func step(waitMilliseconds: Int) throws(LogFault) -> Piece {
        let epoch = epochs[next]
        let piece: Piece
        if withoutDecisions == nil {
            piece = try replay.count(epoch, waitMilliseconds: waitMilliseconds)
            if piece == .done { epochsCompared += 1 }
        } else {
            piece = try replay.count(
                upTo: epoch.offsets, clock: epoch.clock, waitMilliseconds: waitMilliseconds)
            if piece == .done { try compareSums(epoch) }
        }
        guard piece == .done else { return piece }
        group.dropOutputs()
        next += 1
        guard next == epochs.count else { return .more }
        finish(epoch)
        return .done
    }

    func close() { replay.close() }

    /// What an epoch without a change adds to the checksum does not depend on what came before it.
    private func compareSums(_ epoch: EpochRecord) throws(LogFault) {
        let checksum = group.evaluator.checksum
        defer {
            previous = epoch
            checksumBefore = checksum
        }
        guard let previous, previous.generation == epoch.generation, epoch.changes == 0,
            epoch.tightenings == 0,
            withoutDecisions?.isComparable ?? false, epoch.appsMax == group.evaluator.appsMax,
            group.evaluator.tallies.refusedApps == 0
        else { return }
        guard checksum &- checksumBefore == epoch.checksum &- previous.checksum else {
            throw replay.differs(epoch)
        }
        epochsCompared += 1
    }

    private func finish(_ last: EpochRecord) {
        if let withoutDecisions {
            let coverage = EventType.allCases.map { type in
                withoutDecisions.isFromSnapshot || start[type] == 0
                    ? .min : replay.firstAppends[Int(type.rawValue)] ?? last.clock
            }
            group.evaluator.resume(at: last.clock, coveredSince: coverage.reduce(.min, max))
        }
        group.dropUncounted()
    }
}
