// Reading a part of the log from one place on, to the end that it has now.

/// Reads partitions forward, waiting for the log where it has to. One thread owns it; `close` ends
/// it.
package final class TopicScan {
    private static let pollMilliseconds = 200
    private static let batchBytes = 1 << 20
    /// So long without a record or an end means that the log does not answer.
    private static let stallMilliseconds: Int64 = 30_000

    private let reader: any LogReader
    private let batch = LogBatch(bytesMax: TopicScan.batchBytes)
    private let places: Set<TopicPartition>
    private let place: String
    /// What reads have shown to have no more.
    private var ended: Set<TopicPartition> = []

    package init(_ log: any EventLog, from positions: [TopicPartition: Int64]) throws(LogFault) {
        reader = try log.makeReader(from: positions)
        places = Set(positions.keys)
        place = log.place
    }

    /// Where a partition will be read next.
    package func position(_ place: TopicPartition) -> Int64 { reader.positions[place] ?? 0 }

    /// Hands over the next records, of one partition or of all; false when read to the end.
    package func next(
        of only: TopicPartition? = nil, _ body: (ArraySlice<LogRecord>) -> Void
    ) throws(LogFault) -> Bool {
        let wanted = only.map { [$0] } ?? places
        if ended.isSuperset(of: wanted) { return false }
        reader.held = places.subtracting(wanted)
        let begun = LogClock.steady.now()
        // What is there is asked for first: at the end, waiting for more would be in vain.
        var wait = 0
        while true {
            let before = reader.positions
            let outcome = try reader.poll(into: batch, waitMilliseconds: wait)
            if !batch.records.isEmpty { body(batch.records[...]) }
            ended.formUnion(outcome.ended)
            if !batch.records.isEmpty || reader.positions != before { return true }
            if ended.isSuperset(of: wanted) { return false }
            wait = Self.pollMilliseconds
            guard LogClock.steady.now() - begun < Self.stallMilliseconds else {
                throw LogFault(
                    "read", at: place, reason: "neither a record nor the end came for 30 s",
                    hint: "is the log reachable?", remedy: .retry)
            }
        }
    }

    package func close() { reader.close() }
}
