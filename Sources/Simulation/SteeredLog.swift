// A log between the memory log and those who read it, that is as slow, uneven and unreliable as
// networks are.

package import EventLog
import Synchronization

/// What a steered log does with the calls that reach it.
package struct Steering: Sendable {
    /// How likely a poll leaves out an input, as neither waiting nor ended.
    package var heldShare = 0.0
    /// The most bytes that a poll brings; at least one record comes, if any waits.
    package var pieceBytes = 256 << 10
    /// Left out of polls until they are taken out of this set.
    package var stalled: Set<TopicPartition> = []
    /// As if nothing waited there: an end that was seen before the records came.
    package var hidden: Set<TopicPartition> = []
    /// How likely a read, a join or a look at positions fails, to be tried again.
    package var faultShare = 0.0
    /// How long before the question the time lies that an answer holds for, in ms.
    package var answerAge: Int64 = 0
    /// A fault that must be found.
    package var canary: Canary?
    package var random: SimulationRandom

    package init(seed: UInt64 = 0) {
        random = SimulationRandom(seed: seed)
    }
}

/// Passes on to a memory log, as it is steered. Any thread may call it, as with every log. Nobody
/// waits in it: all the others, who could end the wait, are in the same thread.
package final class SteeredLog: EventLog {
    package let memory: MemoryLog
    private let steering: Mutex<Steering>

    package init(_ memory: MemoryLog, _ steering: Steering = Steering()) {
        self.memory = memory
        self.steering = Mutex(steering)
    }

    package func steer<Result: Sendable>(_ body: (inout Steering) -> Result) -> Result {
        steering.withLock { body(&$0) }
    }

    package var partitions: Int { memory.partitions }
    package var place: String { memory.place }

    package func append(_ records: [OutgoingRecord]) throws(LogFault) {
        try memory.append(records)
    }

    package func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        try mayFail("bounds")
        return memory.bounds(of: place)
    }

    package func makeReader(
        from positions: [TopicPartition: Int64]
    ) throws(LogFault) -> any LogReader {
        try mayFail("read")
        return SteeredReader(memory.makeReader(from: positions), self)
    }

    package func makeWorker(lane: Int) throws(LogFault) -> any LogWorker {
        try mayFail("join")
        return SteeredWorker(memory.makeWorker(lane: lane), self)
    }

    package func makeExclusiveAppender(
        name: String
    ) throws(LogFault) -> any ExclusiveAppender {
        try mayFail("take a name")
        return memory.makeExclusiveAppender(name: name)
    }

    package func maintain() -> Bool { memory.maintain() }
    package func interrupt() { memory.interrupt() }
    package func close() { memory.close() }

    func mayFail(_ operation: String) throws(LogFault) {
        let fails = steer { steering in
            steering.faultShare > 0 && steering.random.chance(steering.faultShare)
        }
        if fails {
            throw LogFault(operation, at: place, reason: "the network is away", remedy: .retry)
        }
    }
}

/// A reader that is steered.
private final class SteeredReader: LogReader {
    private let reader: any LogReader
    private let log: SteeredLog
    private let piece = Piece()

    init(_ reader: any LogReader, _ log: SteeredLog) {
        self.reader = reader
        self.log = log
    }

    var positions: [TopicPartition: Int64] { reader.positions }

    var held: Set<TopicPartition> {
        get { reader.held }
        set { reader.held = newValue }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.mayFail("read")
        let piece = piece.sized(log.steer { $0.pieceBytes })
        let outcome = try reader.poll(into: piece, waitMilliseconds: 0)
        batch.refill(from: piece)
        return outcome
    }

    func close() { reader.close() }
}

/// A worker that is steered.
private final class SteeredWorker: LogWorker {
    private let worker: any LogWorker
    private let log: SteeredLog
    private let piece = Piece()
    private var started: Set<Int> = []
    var held: Set<TopicPartition> = []

    init(_ worker: any LogWorker, _ log: SteeredLog) {
        self.worker = worker
        self.log = log
    }

    var generation: Int64 { worker.generation }

    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange? {
        try log.mayFail("join")
        let change = try worker.pollAssignment(waitMilliseconds: 0)
        if case .revoked(let partitions) = change { started.subtract(partitions) }
        return change
    }

    func committedPositions(partition: Int) throws(LogFault) -> [TopicPartition: Int64] {
        try log.mayFail("restore")
        return try worker.committedPositions(partition: partition)
    }

    func start(partition: Int, at positions: [TopicPartition: Int64]) throws(LogFault) {
        try worker.start(partition: partition, at: positions)
        started.insert(partition)
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.mayFail("read")
        let inputs = started.sorted().flatMap { partition in
            Topic.inputs.map { TopicPartition($0, partition) }
        }
        let (left, hidden, bytes) = log.steer { steering in
            let left = inputs.filter { _ in steering.random.chance(steering.heldShare) }
            return (steering.stalled.union(left), steering.hidden, steering.pieceBytes)
        }
        worker.held = held.union(left).union(hidden)
        let piece = piece.sized(bytes)
        var outcome = try worker.poll(into: piece, waitMilliseconds: 0)
        outcome.asOf -= log.steer { $0.answerAge }
        outcome.ended.formUnion(hidden.intersection(inputs).subtracting(left).subtracting(held))
        batch.refill(from: piece, without: strikes(.skippedRecord) ? piece.records.count / 2 : nil)
        return outcome
    }

    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        let canary = log.steer { $0.canary }
        do throws(LogFault) {
            guard let canary, strikes(canary) else {
                return try worker.commit(outputs, positions: positions)
            }
            return try worker.commit(canary.outputs(of: outputs), positions: positions)
        } catch {
            guard error.remedy == .fenced, canary == .unfencedZombie else { throw error }
            try log.memory.append(outputs)
            throw error
        }
    }

    private func strikes(_ canary: Canary) -> Bool {
        log.steer { $0.canary == canary && canary.strikes(&$0.random) }
    }

    func close() { worker.close() }
}

/// A batch that is made anew only when its size has changed.
private final class Piece {
    private var batch: LogBatch?

    func sized(_ bytes: Int) -> LogBatch {
        if let batch, batch.bytesMax == bytes { return batch }
        let batch = LogBatch(bytesMax: bytes)
        self.batch = batch
        return batch
    }
}

extension LogBatch {
    /// Holds copies of another batch's records, and nothing else.
    fileprivate func refill(from other: LogBatch, without place: Int? = nil) {
        reset()
        for (index, record) in other.records.enumerated() where index != place {
            let isAdded = unsafe append(
                record.topic, partition: record.partition, offset: record.offset,
                append: record.append, key: record.key, value: record.value)
            precondition(isAdded, "a piece is no larger than a batch")
        }
    }
}
