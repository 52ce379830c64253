// A log between Kafka's and those who read it, that brings its records in other pieces and in
// another order of partitions than the brokers would.
import BrakeModel
import EventLog
import Synchronization

/// How a log is uneven; from a seed.
struct Unevenness {
    /// How likely a poll leaves out an input, as neither waiting nor ended.
    var heldShare = 0.0
    /// The most bytes that a poll brings; at least one record comes, if any waits.
    var pieceBytes = 256 << 10
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }
}

/// Passes on to another log what is not read.
final class UnevenLog: EventLog {
    private let log: any EventLog
    private let unevenness: Mutex<Unevenness>

    init(_ log: any EventLog, _ unevenness: Unevenness) {
        self.log = log
        self.unevenness = Mutex(unevenness)
    }

    var partitions: Int { log.partitions }
    var place: String { log.place }

    func append(_ records: [OutgoingRecord]) throws(LogFault) { try log.append(records) }

    func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        try log.bounds(of: place)
    }

    func makeReader(from positions: [TopicPartition: Int64]) throws(LogFault) -> any LogReader {
        UnevenReader(try log.makeReader(from: positions), self)
    }

    func makeWorker(lane: Int) throws(LogFault) -> any LogWorker {
        try log.makeWorker(lane: lane)
    }

    func makeExclusiveAppender(name: String) throws(LogFault) -> any ExclusiveAppender {
        try log.makeExclusiveAppender(name: name)
    }

    func maintain() throws(LogFault) -> Bool { try log.maintain() }
    func interrupt() { log.interrupt() }
    func close() { log.close() }

    /// What the next poll of these places leaves out, and how much it may bring.
    func whims(of places: [TopicPartition]) -> (held: Set<TopicPartition>, bytes: Int) {
        unevenness.withLock { uneven in
            let left = places.sorted().filter { _ in
                Double.random(in: 0..<1, using: &uneven.random) < uneven.heldShare
            }
            return (Set(left), uneven.pieceBytes)
        }
    }
}

/// Reads through a piece of another size.
private struct Piece {
    private var batch = LogBatch(bytesMax: 1)

    mutating func sized(_ bytes: Int) -> LogBatch {
        if batch.bytesMax != bytes { batch = LogBatch(bytesMax: bytes) }
        return batch
    }
}

extension LogBatch {
    fileprivate func refill(from other: LogBatch) {
        reset()
        for record in other.records {
            let isAdded = unsafe append(
                record.topic, partition: record.partition, offset: record.offset,
                append: record.append, key: record.key, value: record.value)
            precondition(isAdded, "a piece is no larger than a batch")
        }
    }
}

private final class UnevenReader: LogReader {
    private let reader: any LogReader
    private let log: UnevenLog
    private var piece = Piece()
    var held: Set<TopicPartition> = []

    init(_ reader: any LogReader, _ log: UnevenLog) {
        self.reader = reader
        self.log = log
    }

    var positions: [TopicPartition: Int64] { reader.positions }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        let (left, bytes) = log.whims(of: Array(positions.keys))
        reader.held = held.union(left)
        let piece = piece.sized(min(bytes, batch.bytesMax))
        let outcome = try reader.poll(into: piece, waitMilliseconds: waitMilliseconds)
        batch.refill(from: piece)
        return outcome
    }

    func close() { reader.close() }
}
