// A log between Kafka's and those who read it, that brings its records in other pieces and in
// another order of partitions than the brokers would.
import EventLog
import Synchronization

/// How a log is uneven; from a seed.
struct Unevenness {
    /// How likely a poll leaves out an input, as neither waiting nor ended.
    var heldShare = 0.0
    /// The most bytes that a poll brings; at least one record comes, if any waits.
    var pieceBytes = 256 << 10
    /// Left out of polls until they are taken out of this set.
    var stalled: Set<TopicPartition> = []
    var random: SeededRandom

    init(seed: UInt64 = 0) { random = SeededRandom(state: seed) }
}

/// A small generator whose sequence follows from its seed (SplitMix64, public domain).
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// Passes on to another log what is not read.
final class UnevenLog: EventLog {
    private let log: any EventLog
    private let unevenness: Mutex<Unevenness>

    init(_ log: any EventLog, _ unevenness: Unevenness = Unevenness()) {
        self.log = log
        self.unevenness = Mutex(unevenness)
    }

    func change<Result: Sendable>(_ body: (inout Unevenness) -> Result) -> Result {
        unevenness.withLock { body(&$0) }
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
        UnevenWorker(try log.makeWorker(lane: lane), self)
    }

    func makeExclusiveAppender(name: String) throws(LogFault) -> any ExclusiveAppender {
        try log.makeExclusiveAppender(name: name)
    }

    func maintain() throws(LogFault) -> Bool { try log.maintain() }
    func interrupt() { log.interrupt() }
    func close() { log.close() }

    /// What the next poll of these places leaves out, and how much it may bring.
    func whims(of places: [TopicPartition]) -> (held: Set<TopicPartition>, bytes: Int) {
        change { uneven in
            let left = places.sorted().filter { _ in
                Double.random(in: 0..<1, using: &uneven.random) < uneven.heldShare
            }
            return (uneven.stalled.union(left), uneven.pieceBytes)
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

private final class UnevenWorker: LogWorker {
    private let worker: any LogWorker
    private let log: UnevenLog
    private var piece = Piece()
    private var started: Set<Int> = []
    var held: Set<TopicPartition> = []

    init(_ worker: any LogWorker, _ log: UnevenLog) {
        self.worker = worker
        self.log = log
    }

    var generation: Int64 { worker.generation }

    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange? {
        let change = try worker.pollAssignment(waitMilliseconds: waitMilliseconds)
        if case .revoked(let partitions) = change { started.subtract(partitions) }
        return change
    }

    func committedPositions(partition: Int) throws(LogFault) -> [TopicPartition: Int64] {
        try worker.committedPositions(partition: partition)
    }

    func start(partition: Int, at positions: [TopicPartition: Int64]) throws(LogFault) {
        try worker.start(partition: partition, at: positions)
        started.insert(partition)
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        let inputs = started.flatMap { partition in
            Topic.inputs.map { TopicPartition($0, partition) }
        }
        let (left, bytes) = log.whims(of: inputs)
        worker.held = held.union(left)
        let piece = piece.sized(min(bytes, batch.bytesMax))
        let outcome = try worker.poll(into: piece, waitMilliseconds: waitMilliseconds)
        batch.refill(from: piece)
        return outcome
    }

    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        try worker.commit(outputs, positions: positions)
    }

    func close() { worker.close() }
}
