// Finding one epoch of a partition among many, without reading those in between.

import BrakeWire
import EventLog

/// Looks into the `epoch` topic of a partition here and there; waits for the log.
struct EpochSearch {
    /// Read at once while looking for an epoch.
    private static let probeBytes = 16 << 10

    let log: any EventLog
    let partition: Int
    private var place: TopicPartition { TopicPartition(.epoch, partition) }

    init(of partition: Int, in log: any EventLog) {
        self.log = log
        self.partition = partition
    }

    /// The last epoch for which something holds that holds for all before it, too; nil when it does
    /// not hold for the first that is there. O(log epochs) reads.
    func last(where holds: (EpochRecord) -> Bool) throws(LogFault) -> EpochRecord? {
        let bounds = try log.bounds(of: place)
        var low = bounds.lowerBound
        var high = bounds.upperBound
        var found: EpochRecord?
        // Below `low` it holds for each epoch, from `high` on for none.
        while low < high {
            let middle = low + (high - low) / 2
            guard let probe = try first(from: middle), holds(probe) else {
                high = middle
                continue
            }
            found = probe
            low = middle + 1
        }
        return found
    }

    /// The first epoch at an offset or after it.
    private func first(from offset: Int64) throws(LogFault) -> EpochRecord? {
        let scan = try LogScan(log, from: [place: offset], batchBytes: Self.probeBytes)
        defer { scan.close() }
        let reader = DocumentReader()
        var first: EpochRecord?
        while first == nil {
            let piece = try scan.next(waitMilliseconds: LogScan.pollMilliseconds) { records in
                for record in records where first == nil {
                    guard let value = unsafe record.value else { continue }
                    first = unsafe try? EpochRecord.decode(value, with: reader)
                }
            }
            if piece == .done { break }
        }
        return first
    }
}
