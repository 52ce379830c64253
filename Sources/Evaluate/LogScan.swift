// Reading a part of the log from one place on, to the end that it has now.

import EventLog
import Runtime

/// Reads partitions forward. One thread owns it; `close` ends it.
final class LogScan {
    private static let pollMilliseconds = 200
    static let batchBytes = 1 << 20
    /// So long without a record or an end means that the log does not answer.
    private static let stallMilliseconds: Int64 = 30_000

    private let reader: any LogReader
    private let batch: LogBatch
    private let places: Set<TopicPartition>
    private let place: String
    /// What reads have shown to have no more.
    private var ended: Set<TopicPartition> = []

    init(
        _ log: any EventLog, from positions: [TopicPartition: Int64],
        batchBytes: Int = LogScan.batchBytes
    ) throws(LogFault) {
        batch = LogBatch(bytesMax: batchBytes)
        reader = try log.makeReader(from: positions)
        places = Set(positions.keys)
        place = log.place
    }

    /// Where a partition will be read next.
    func position(_ place: TopicPartition) -> Int64 { reader.positions[place] ?? 0 }

    /// Hands over the next records, of one partition or of all; false when read to the end.
    func next(
        of only: TopicPartition? = nil, _ body: (ArraySlice<LogRecord>) -> Void
    ) throws(LogFault) -> Bool {
        let wanted = only.map { [$0] } ?? places
        if ended.isSuperset(of: wanted) { return false }
        reader.held = places.subtracting(wanted)
        let begun = SystemClock.monotonicMilliseconds()
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
            guard SystemClock.monotonicMilliseconds() - begun < Self.stallMilliseconds else {
                throw LogFault(
                    "read", at: place, reason: "neither a record nor the end came for 30 s",
                    hint: "is the log reachable?", remedy: .retry)
            }
        }
    }

    func close() { reader.close() }
}
