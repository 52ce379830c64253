// A log that tests put into trouble: out of reach, held back, or failing for good.
import EventLog
import Glibc
import Runtime

/// Passes everything to another log while it is well.
final class TroubledLog: EventLog {
    enum Mode: Sendable {
        case well
        /// Cannot be reached.
        case away
        /// Gives so many records more, then neither records nor ends.
        case held(after: Int)
        /// No read will ever succeed again.
        case broken
    }

    let mode = Monitor(Mode.well)
    /// The threads that have asked anything of it.
    let askers = Monitor<Set<UInt>>([])
    private let inner: any EventLog

    init(_ inner: any EventLog) { self.inner = inner }

    var partitions: Int { inner.partitions }
    var place: String { inner.place }

    func append(_ records: [OutgoingRecord]) throws(LogFault) { try inner.append(records) }

    func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        try check("look up bounds")
        return try inner.bounds(of: place)
    }

    func makeReader(from positions: [TopicPartition: Int64]) throws(LogFault) -> any LogReader {
        try check("open")
        return TroubledReader(self, try inner.makeReader(from: positions))
    }

    func makeWorker(lane: Int) throws(LogFault) -> any LogWorker {
        try inner.makeWorker(lane: lane)
    }

    func makeExclusiveAppender(name: String) throws(LogFault) -> any ExclusiveAppender {
        try inner.makeExclusiveAppender(name: name)
    }

    func maintain() throws(LogFault) -> Bool { try inner.maintain() }
    func interrupt() { inner.interrupt() }
    func close() { inner.close() }

    func check(_ operation: String) throws(LogFault) {
        askers.withLock { _ = $0.insert(pthread_self()) }
        switch mode.read({ $0 }) {
        case .well, .held: break
        case .away:
            throw LogFault(operation, at: "test", reason: "out of reach", remedy: .retry)
        case .broken:
            throw LogFault(operation, at: "test", reason: "broken", remedy: .stop)
        }
    }
}

private final class TroubledReader: LogReader {
    private let log: TroubledLog
    private let inner: any LogReader

    init(_ log: TroubledLog, _ inner: any LogReader) {
        self.log = log
        self.inner = inner
    }

    var positions: [TopicPartition: Int64] { inner.positions }

    var held: Set<TopicPartition> {
        get { inner.held }
        set { inner.held = newValue }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.check("read")
        // As a log does that gives a part of what there is: a record at a time, no word of the end.
        while case .held(let count) = log.mode.read({ $0 }) {
            guard count > 0 else {
                _ = log.mode.wait(milliseconds: waitMilliseconds) { mode -> Bool? in
                    if case .held(0) = mode { nil } else { true }
                }
                batch.reset()
                return PollOutcome(ended: [], asOf: 0)
            }
            let small = LogBatch(bytesMax: 1)
            _ = try inner.poll(into: small, waitMilliseconds: waitMilliseconds)
            batch.reset()
            for record in small.records {
                _ = unsafe batch.append(
                    record.topic, partition: record.partition, offset: record.offset,
                    append: record.append, key: record.key, value: record.value)
            }
            let taken = small.records.count
            log.mode.withLock { mode in
                if case .held(let left) = mode { mode = .held(after: max(0, left - taken)) }
            }
            return PollOutcome(ended: [], asOf: 0)
        }
        return try inner.poll(into: batch, waitMilliseconds: waitMilliseconds)
    }

    func close() { inner.close() }
}
