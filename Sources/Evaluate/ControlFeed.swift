// Reading `control`: one partition, from its first record on, as far as is wanted.

import BrakeModel
import BrakeWire
import EventLog
import Runtime

/// Folds what people have decided, up to an offset that only rises. One thread owns it; `close`
/// ends it.
final class ControlFeed {
    private static let place = TopicPartition(.control, 0)
    private static let pollMilliseconds = 200
    private static let batchBytes = 1 << 20
    /// So long without a record means that the log does not answer.
    private static let stallMilliseconds: Int64 = 30_000

    private(set) var ledger = ControlLedger()
    private let log: any EventLog
    private var reader: (any LogReader)?
    private let batch = LogBatch(bytesMax: ControlFeed.batchBytes)
    private let documents = DocumentReader()
    /// Read, but not yet wanted.
    private var waiting: ArraySlice<(offset: Int64, value: [UInt8]?)> = []

    init(log: any EventLog) { self.log = log }

    /// Takes everything that is there now.
    func poll() throws(LogFault) {
        _ = try read(waitMilliseconds: 0)
        while let next = waiting.popFirst() { take(next) }
    }

    /// Takes what lies before an offset, which the topic had reached when an epoch told of it.
    func advance(to end: Int64) throws(LogFault) {
        guard ledger.end < end else { return }
        guard try log.bounds(of: Self.place).upperBound >= end else {
            throw LogFault(
                "read", at: "\(Self.place) of \(log.place)",
                reason: "an epoch was decided by \(end) records, which are not all there",
                hint: "was the log replaced or cut?", remedy: .stop)
        }
        let begun = SystemClock.monotonicMilliseconds()
        while ledger.end < end {
            if let next = waiting.first {
                guard next.offset < end else { return }
                waiting.removeFirst()
                take(next)
            } else if try !read(waitMilliseconds: Self.pollMilliseconds),
                SystemClock.monotonicMilliseconds() - begun >= Self.stallMilliseconds
            {
                throw LogFault(
                    "read", at: "\(Self.place) of \(log.place)",
                    reason: "neither a record nor the end came for 30 s",
                    hint: "is the log reachable?", remedy: .retry)
            }
        }
    }

    func close() {
        reader?.close()
        reader = nil
    }

    /// Reads on; returns whether anything came.
    private func read(waitMilliseconds: Int) throws(LogFault) -> Bool {
        let reader = try opened()
        let before = reader.positions
        _ = try reader.poll(into: batch, waitMilliseconds: waitMilliseconds)
        for record in batch.records {
            waiting.append((record.offset, unsafe record.value.map { unsafe [UInt8]($0) }))
        }
        batch.reset()
        return reader.positions != before
    }

    private func opened() throws(LogFault) -> any LogReader {
        if let reader { return reader }
        let reader = try log.makeReader(from: [Self.place: 0])
        self.reader = reader
        return reader
    }

    private func take(_ record: (offset: Int64, value: [UInt8]?)) {
        guard let value = record.value else {
            return unsafe ledger.take(offset: record.offset, value: nil, with: documents)
        }
        unsafe value.withUnsafeBytes { bytes in
            unsafe ledger.take(offset: record.offset, value: bytes, with: documents)
        }
    }
}
