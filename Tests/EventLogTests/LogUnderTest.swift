// What the conformance suite needs of a log: a way to make one, and values that can be compared.
import EventLog
import Foundation
import SQLiteLog
import Synchronization
import Testing

/// A kind of log that the suite is run against. A real one joins by adding itself to `all`.
struct LogKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Opens a log of so many partitions in the directory, whose time comes from the clock.
    let open: @Sendable (_ directory: String, _ partitions: Int, LogClock) throws -> any EventLog

    static let memory = LogKind(testDescription: "memory") { _, partitions, clock in
        MemoryLog(partitions: partitions, clock: clock)
    }
    static let sqlite = LogKind(testDescription: "SQLite") { directory, partitions, clock in
        try SQLiteLog(path: directory + "/log.db", partitions: partitions, clock: clock)
    }

    static let all = local
    /// Those whose append times and reads share one clock.
    static let local = [memory, sqlite]

    /// Runs the body with a new log, and closes and removes it.
    func withLog(
        partitions: Int = 4, clock: SetClock = SetClock(), _ body: (any EventLog) throws -> Void
    ) throws {
        try withDirectory { directory in
            let log = try open(directory, partitions, clock.logClock)
            defer { log.close() }
            try body(log)
        }
    }
}

/// A clock that tests set.
final class SetClock: Sendable {
    private let time: Atomic<Int64>

    init(_ time: Int64 = 1_800_000_000_000) {
        self.time = Atomic(time)
    }

    var now: Int64 { time.load(ordering: .sequentiallyConsistent) }

    func set(_ new: Int64) {
        time.store(new, ordering: .sequentiallyConsistent)
    }

    var logClock: LogClock { LogClock { self.now } }
}

/// Runs the body with a new directory, which is removed after it.
func withDirectory(_ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("adbrake-log-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path)
}

/// A record as a test looks at it.
struct ReadRecord: Equatable {
    let place: TopicPartition
    let offset: Int64
    let append: Int64
    let key: String?
    let value: String?
}

extension LogBatch {
    /// Copies of the records.
    var copies: [ReadRecord] {
        records.map { record in
            unsafe ReadRecord(
                place: TopicPartition(record.topic, record.partition), offset: record.offset,
                append: record.append,
                key: record.key.map { unsafe String(decoding: $0, as: UTF8.self) },
                value: record.value.map { unsafe String(decoding: $0, as: UTF8.self) })
        }
    }
}

extension EventLog {
    /// All records of these partitions, from their first.
    func readAll(_ places: [TopicPartition]) throws -> [ReadRecord] {
        var positions: [TopicPartition: Int64] = [:]
        for place in places { positions[place] = try bounds(of: place).lowerBound }
        let reader = try makeReader(from: positions)
        defer { reader.close() }
        return try reader.readToEnd()
    }

    func readAll(_ topic: Topic, _ partition: Int = 0) throws -> [ReadRecord] {
        try readAll([TopicPartition(topic, partition)])
    }

    /// A worker that owns all partitions and has started none.
    func makeAssignedWorker(lane: Int = 0) throws -> any LogWorker {
        let worker = try makeWorker(lane: lane)
        while try worker.pollAssignment(waitMilliseconds: 0) != nil {}
        return worker
    }
}

extension LogReader {
    /// Polls until every partition has ended.
    func readToEnd(bytesMax: Int = LogBatch.defaultBytesMax) throws -> [ReadRecord] {
        let batch = LogBatch(bytesMax: bytesMax)
        var records: [ReadRecord] = []
        while true {
            let outcome = try poll(into: batch, waitMilliseconds: 0)
            records += batch.copies
            if outcome.ended.count == positions.count { return records }
        }
    }
}

extension OutgoingRecord {
    init(_ topic: Topic, _ partition: Int, key: String? = "app", _ value: String?) {
        self.init(
            topic, partition: partition, key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) })
    }
}

/// The fault that the body throws.
func fault(_ body: () throws -> Void) throws -> LogFault {
    do {
        try body()
    } catch let fault as LogFault {
        return fault
    }
    throw NoFault()
}

struct NoFault: Error {}
