// Reading a part of the log from one place on, to the end that it has now.

import EventLog
import Runtime

/// What a piece of work that may have to wait for the log has ended with.
enum Piece {
    /// All is done.
    case done
    /// Something has been done, and more can be.
    case more
    /// The log had nothing to go on with yet.
    case waiting
}

/// Reads partitions forward. One thread owns it; `close` ends it.
final class LogScan {
    /// How long those wait who have nothing else to do.
    static let pollMilliseconds = 200
    static let batchBytes = 1 << 20
    /// So long without a record or an end means that the log does not answer.
    private static let stallMilliseconds: Int64 = 30_000

    private let reader: any LogReader
    private let batch: LogBatch
    private let places: Set<TopicPartition>
    private let place: String
    /// What reads have shown to have no more.
    private var ended: Set<TopicPartition> = []
    /// Since when neither a record nor an end has come.
    private var silentSince: Int64?
    private var isClosed = false

    init(
        _ log: any EventLog, from positions: [TopicPartition: Int64],
        batchBytes: Int = LogScan.batchBytes
    ) throws(LogFault) {
        batch = LogBatch(bytesMax: batchBytes)
        reader = try log.makeReader(from: positions)
        places = Set(positions.keys)
        place = log.place
    }

    deinit { close() }

    /// Hands over the next records, of one partition or of all; done when read to the end. Asks the
    /// log once, and waits so long for records at the most.
    func next(
        of only: TopicPartition? = nil, waitMilliseconds: Int,
        _ body: (ArraySlice<LogRecord>) -> Void
    ) throws(LogFault) -> Piece {
        let wanted = only.map { [$0] } ?? places
        if ended.isSuperset(of: wanted) { return .done }
        reader.held = places.subtracting(wanted)
        let before = reader.positions
        let outcome = try reader.poll(into: batch, waitMilliseconds: waitMilliseconds)
        if !batch.records.isEmpty { body(batch.records[...]) }
        ended.formUnion(outcome.ended)
        if !batch.records.isEmpty || reader.positions != before {
            silentSince = nil
            return .more
        }
        if ended.isSuperset(of: wanted) { return .done }
        try heedSilence()
        return .waiting
    }

    private func heedSilence() throws(LogFault) {
        let now = SystemClock.monotonicMilliseconds()
        let since = silentSince ?? now
        silentSince = since
        guard now - since >= Self.stallMilliseconds else { return }
        silentSince = nil
        throw LogFault(
            "read", at: place, reason: "neither a record nor the end came for 30 s",
            hint: "is the log reachable, or a transaction open that holds readers back?",
            remedy: .retry)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        reader.close()
    }
}
