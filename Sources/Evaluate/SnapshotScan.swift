// Reading one snapshot out of its topic.

import BrakeEngine
import BrakeWire
import EventLog

/// Joins the chunks of the snapshot that an epoch points to. One thread owns it; `close` ends it.
final class SnapshotScan {
    let pointer: EpochRecord.SnapshotPointer
    private let scan: LogScan
    private var image: SnapshotImage
    private(set) var bytesRead = 0

    init(
        _ pointer: EpochRecord.SnapshotPointer, of partition: Int, in log: any EventLog
    ) throws(LogFault) {
        self.pointer = pointer
        image = SnapshotImage(
            partition: partition, epoch: pointer.epoch, chunks: pointer.chunks,
            bytes: pointer.bytes)
        scan = try LogScan(log, from: [TopicPartition(.snapshot, partition): pointer.offset])
    }

    /// Reads the next chunks. What it throws besides faults of the log says what is wrong with the
    /// snapshot.
    func step(waitMilliseconds: Int) throws -> Piece {
        if image.isWhole { return .done }
        var flaw: SnapshotFault?
        let piece = try scan.next(waitMilliseconds: waitMilliseconds) { records in
            for record in records where flaw == nil && !image.isWhole {
                guard let value = unsafe record.value else { continue }
                do throws(SnapshotFault) {
                    unsafe try image.append(value)
                    bytesRead += value.count
                } catch { flaw = error }
            }
        }
        if let flaw { throw flaw }
        return image.isWhole ? .done : piece
    }

    /// The evaluator that it holds, once it is read; `controls` are those that were in force.
    func evaluator(controls: Controls, limits: EvaluatorLimits) throws -> Evaluator {
        try Evaluator(restoring: try image.finish(), controls: controls, limits: limits)
    }

    func close() { scan.close() }
}
