// The topic of dead letters, read from its beginning: letters, and which of them were retried.

import BrakeModel
package import BrakeWire
package import EventLog

/// A letter with its place in the topic, which is its name for people.
package struct StoredLetter: Sendable {
    /// Its offset in the topic of dead letters.
    package var number: Int64
    /// When it was written, ms since 1970.
    package var written: Int64
    package var letter: DeadLetter
}

/// Reads the topic. One thread owns it.
package final class DeadTopic {
    /// The most letters that are remembered as retried: more fit into no topic of seven days.
    static let retriedMax = 10_000_000
    static let place = TopicPartition(.dead, 0)

    private let log: any EventLog
    private let reader = DocumentReader()
    /// The letters that were retried, as far as the topic has been read.
    package private(set) var retried: Set<Int64> = []
    /// Records that are neither letters nor marks that this build knows.
    package private(set) var unreadable = 0

    package init(_ log: any EventLog) {
        self.log = log
    }

    /// Where the topic ends now.
    package func end() throws(LogFault) -> Int64 {
        try log.bounds(of: Self.place).upperBound
    }

    /// Reads what the topic holds before `end`, and hands over the letters in their order, piece by
    /// piece. Marks are noted in `retried`.
    package func read(
        upTo end: Int64 = .max, _ body: ([StoredLetter]) throws(LogFault) -> Void
    ) throws(LogFault) {
        let low = try log.bounds(of: Self.place).lowerBound
        let scan = try LogScan(log, from: [Self.place: low])
        defer { scan.close() }
        unreadable = 0
        var letters: [StoredLetter] = []
        while try scan.next({ records in take(records, upTo: end, into: &letters) }) {
            try body(letters)
            letters.removeAll(keepingCapacity: true)
            guard scan.position(Self.place) < end else { return }
            guard retried.count <= Self.retriedMax else {
                throw LogFault(
                    "read", at: "\(Self.place) of \(log.place)",
                    reason: "more than \(Self.retriedMax) letters have been retried",
                    hint: "wait until retention has deleted the oldest", remedy: .stop)
            }
        }
    }

    private func take(
        _ records: ArraySlice<LogRecord>, upTo end: Int64, into letters: inout [StoredLetter]
    ) {
        for record in records where record.offset < end {
            do {
                let bytes = unsafe record.value ?? UnsafeRawBufferPointer(start: nil, count: 0)
                switch unsafe try DeadRecord.decode(bytes, with: reader) {
                case .letter(let letter):
                    letters.append(
                        StoredLetter(
                            number: record.offset, written: record.append, letter: letter))
                case .retried(let mark): retried.formUnion(mark.letters)
                }
            } catch {
                unreadable += 1
            }
        }
    }
}
