// Reading a part of the log from one place on, to the end that it has now.

import EventLog
import Runtime

/// Reads partitions forward. One thread owns it; `close` ends it.
final class LogScan {
    private static let pollMilliseconds = 200
    /// So long without a record or an end means that the log does not answer.
    private static let stallMilliseconds: Int64 = 30_000

    private let reader: any LogReader
    private let batch = LogBatch()
    private let places: Set<TopicPartition>
    private let place: String

    init(_ log: any EventLog, from positions: [TopicPartition: Int64]) throws(LogFault) {
        reader = try log.makeReader(from: positions)
        places = Set(positions.keys)
        place = log.place
    }

    /// Where a partition will be read next.
    func position(_ place: TopicPartition) -> Int64 { reader.positions[place] ?? 0 }

    /// Hands over the next records; false when all partitions have been read to their ends.
    func next(_ body: (LogRecord) -> Void) throws(LogFault) -> Bool {
        let begun = SystemClock.monotonicMilliseconds()
        while true {
            let before = reader.positions
            let outcome = try reader.poll(into: batch, waitMilliseconds: Self.pollMilliseconds)
            for index in batch.records.indices { body(batch.records[index]) }
            if !batch.records.isEmpty || reader.positions != before { return true }
            if outcome.ended.isSuperset(of: places) { return false }
            guard SystemClock.monotonicMilliseconds() - begun < Self.stallMilliseconds else {
                throw LogFault(
                    "read", at: place, reason: "neither a record nor the end came for 30 s",
                    hint: "is the log reachable?", remedy: .retry)
            }
        }
    }

    func close() { reader.close() }
}
