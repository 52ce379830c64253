// What the admin side knows of `control`: all that holds, and the last records with who and why.

import BrakeWire
import EventLog

/// A record of the topic, as far as it could be read.
struct ControlEntry: Sendable {
    var offset: Int64
    /// When the log took it.
    var append: Int64
    var record: ControlRecord?
    /// Why it is ignored; nil for one that counts.
    var problem: String?
}

/// Reads `control` whenever it is asked, as far as it then goes. One thread at a time: behind a
/// lock.
final class ControlBook {
    static let entriesMax = 1_000
    private static let place = TopicPartition(.control, 0)
    private static let pollMilliseconds = 200

    private(set) var ledger = ControlLedger()
    /// Oldest first.
    private(set) var entries: [ControlEntry] = []
    private let log: any EventLog
    private var reader: (any LogReader)?
    private let batch = LogBatch(bytesMax: 1 << 20)
    private let documents = DocumentReader()

    init(log: any EventLog) { self.log = log }

    /// Takes everything that is in the log by now.
    func refresh() throws(LogFault) {
        do throws(LogFault) {
            let reader = try opened()
            let end = try log.bounds(of: Self.place).upperBound
            while reader.positions[Self.place] ?? 0 < end {
                let outcome = try reader.poll(
                    into: batch, waitMilliseconds: Self.pollMilliseconds)
                for record in batch.records { take(record) }
                batch.reset()
                if outcome.ended.contains(Self.place) { return }
            }
        } catch {
            // Begin anew where the ledger ends.
            reader?.close()
            reader = nil
            throw error
        }
    }

    func close() {
        reader?.close()
        reader = nil
    }

    private func opened() throws(LogFault) -> any LogReader {
        if let reader { return reader }
        let reader = try log.makeReader(from: [Self.place: ledger.end])
        self.reader = reader
        return reader
    }

    private func take(_ record: LogRecord) {
        guard record.offset >= ledger.end else { return }
        let known = ledger.rejections.last?.offset
        unsafe ledger.take(offset: record.offset, value: record.value, with: documents)
        var entry = ControlEntry(offset: record.offset, append: record.append)
        if let last = ledger.rejections.last, last.offset != known { entry.problem = last.reason }
        if let value = unsafe record.value {
            entry.record = unsafe try? ControlRecord.decode(value, with: documents)
        }
        entries.append(entry)
        if entries.count > Self.entriesMax { entries.removeFirst() }
    }
}
