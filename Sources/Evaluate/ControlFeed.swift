// Reading `control`: one partition, from its first record on, as far as is wanted.

import BrakeModel
import BrakeWire
import EventLog

/// Folds what people have decided, up to an offset. One thread owns it; `close` ends it.
final class ControlFeed {
    private static let place = TopicPartition(.control, 0)

    private(set) var ledger = ControlLedger()
    private let log: any EventLog
    private let isRewindable: Bool
    private var scan: LogScan?
    private let documents = DocumentReader()
    /// Read, from the first on if it is rewindable, else those not yet folded.
    private var records: [(offset: Int64, value: [UInt8]?)] = []
    /// Of `records`, those that are folded.
    private var folded = 0

    /// `isRewindable`: keeps what it has read, so that it can go back without reading it again.
    init(log: any EventLog, isRewindable: Bool = false) {
        self.log = log
        self.isRewindable = isRewindable
    }

    /// Takes the next of what is there now; done when there is no more.
    func step(waitMilliseconds: Int) throws(LogFault) -> Piece {
        let piece = try read(waitMilliseconds: waitMilliseconds)
        fold(upTo: .max)
        return piece
    }

    /// Has the next step read on, whatever end was seen before.
    func goOn() { scan?.goOn() }

    /// Takes what lies before an offset, which the topic had reached when an epoch told of it.
    func advance(to end: Int64) throws(LogFault) {
        if end < ledger.end {
            precondition(isRewindable, "only a feed that keeps its records goes back")
            ledger = ControlLedger()
            folded = 0
        }
        fold(upTo: end)
        goOn()
        while ledger.end < end {
            guard try read(waitMilliseconds: LogScan.pollMilliseconds) != .done else {
                throw LogFault(
                    "read", at: "\(Self.place) of \(log.place)",
                    reason: "an epoch was decided by \(end) records, which are not all there",
                    hint: "was the log replaced or cut?", remedy: .stop)
            }
            fold(upTo: end)
        }
    }

    func close() {
        scan?.close()
        scan = nil
    }

    private func read(waitMilliseconds: Int) throws(LogFault) -> Piece {
        let scan = try opened()
        return try scan.next(waitMilliseconds: waitMilliseconds) { batch in
            for record in batch {
                records.append((record.offset, unsafe record.value.map { unsafe [UInt8]($0) }))
            }
        }
    }

    private func opened() throws(LogFault) -> LogScan {
        if let scan { return scan }
        let scan = try LogScan(log, from: [Self.place: 0])
        self.scan = scan
        return scan
    }

    private func fold(upTo end: Int64) {
        while folded < records.count, records[folded].offset < end {
            take(records[folded])
            folded += 1
        }
        guard !isRewindable else { return }
        records.removeFirst(folded)
        folded = 0
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
