// Reading a part of the log from one place on, to the end that it has now.

/// What a piece of work that may have to wait for the log has ended with.
package enum Piece: Sendable {
    /// All is done.
    case done
    /// Something has been done, and more can be.
    case more
    /// The log had nothing to go on with yet.
    case waiting
}

/// Reads partitions forward, piece by piece or waiting for the log. One thread owns it; `close`
/// ends it.
package final class LogScan {
    /// How long those wait who have nothing else to do.
    package static let pollMilliseconds = 200
    package static let batchBytes = 1 << 20
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

    package init(
        _ log: any EventLog, from positions: [TopicPartition: Int64],
        batchBytes: Int = LogScan.batchBytes
    ) throws(LogFault) {
        batch = LogBatch(bytesMax: batchBytes)
        reader = try log.makeReader(from: positions)
        places = Set(positions.keys)
        place = log.place
    }

    deinit { close() }

    /// Where a partition will be read next.
    package func position(_ place: TopicPartition) -> Int64 { reader.positions[place] ?? 0 }

    /// Hands over the next records, of one partition or of all; done when read to the end. Asks the
    /// log once, and waits so long for records at the most.
    package func next(
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

    /// As the other, but waits until there are some; false when read to the end.
    package func next(
        of only: TopicPartition? = nil, _ body: (ArraySlice<LogRecord>) -> Void
    ) throws(LogFault) -> Bool {
        // What is there is asked for first: at the end, waiting for more would be in vain.
        var wait = 0
        while true {
            switch try next(of: only, waitMilliseconds: wait, body) {
            case .done: return false
            case .more: return true
            case .waiting: wait = Self.pollMilliseconds
            }
        }
    }

    /// Forgets the ends it has seen: what has been appended since is read, too.
    package func goOn() { ended.removeAll() }

    private func heedSilence() throws(LogFault) {
        let now = LogClock.steady.now()
        let since = silentSince ?? now
        silentSince = since
        guard now - since >= Self.stallMilliseconds else { return }
        silentSince = nil
        throw LogFault(
            "read", at: place, reason: "neither a record nor the end came for 30 s",
            hint: "is the log reachable, or a transaction open that holds readers back? "
                + "On Kafka: kafka-transactions.sh find-hanging",
            remedy: .retry)
    }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        reader.close()
    }
}
