// What the conformance suite needs of a log: a way to make one, and values that can be compared.
import EventLog
import Foundation
import KafkaLog
import KafkaTestSupport
import SQLiteLog
import Synchronization
import Testing

/// A kind of log that the suite is run against. A real one joins by adding itself to `all`.
struct LogKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether a call shows all that was there before it; others are asked until they do, for a
    /// while.
    let answersAtOnce: Bool
    /// Opens a log of so many partitions in the directory, whose time comes from the clock if it
    /// has none of its own.
    let open: @Sendable (_ directory: String, _ partitions: Int, LogClock) throws -> any EventLog

    static let memory = LogKind(testDescription: "memory", answersAtOnce: true) {
        _, partitions, clock in
        MemoryLog(partitions: partitions, clock: clock)
    }
    static let sqlite = LogKind(testDescription: "SQLite", answersAtOnce: true) {
        directory, partitions, clock in
        try SQLiteLog(path: directory + "/log.db", partitions: partitions, clock: clock)
    }
    static let kafka = LogKind(testDescription: "Kafka", answersAtOnce: false) {
        _, partitions, _ in
        var settings = try KafkaSettings.fresh()
        // Soon given up by the group: a member that leaves lets others wait as long as one that
        // is gone, since it is to come back under its name.
        settings.properties = [
            "session.timeout.ms": "2000", "heartbeat.interval.ms": "300",
            "transaction.timeout.ms": "2000",
        ]
        try KafkaTopics(settings, partitions: partitions, replicas: 1).create()
        return try KafkaLog(settings)
    }

    static let all = KafkaFixture.obstacle == nil ? local + [kafka] : local
    /// Those whose time is ours to set, and whose upkeep is ours to call.
    static let local = [memory, sqlite]

    /// Runs the body with a new log, and closes and removes it.
    func withLog(
        partitions: Int = 4, clock: SetClock = SetClock(), _ body: (any EventLog) throws -> Void
    ) async throws {
        func run() throws {
            try withDirectory { directory in
                let log = try open(directory, partitions, clock.logClock)
                defer { log.close() }
                try body(log)
            }
        }
        if answersAtOnce { try run() } else { try await withBroker { try run() } }
    }

    /// Asks until there is an answer; a log that answers at once is asked once.
    func ask<Answer>(_ what: String, _ look: () throws -> Answer?) throws -> Answer {
        if answersAtOnce { return try #require(try look(), "\(what)") }
        return try eventually(what, look)
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
        try worker.acquire(Set(0..<partitions))
        return worker
    }
}

extension LogReader {
    /// Polls until every partition has ended.
    func readToEnd(bytesMax: Int = LogBatch.defaultBytesMax) throws -> [ReadRecord] {
        let batch = LogBatch(bytesMax: bytesMax)
        var records: [ReadRecord] = []
        return try eventually("the end of \(positions.keys.sorted())") {
            let outcome = try poll(into: batch, waitMilliseconds: 0)
            records += batch.copies
            return outcome.ended.count == positions.count ? records : nil
        }
    }

    /// Polls until so many records have come.
    func read(_ count: Int) throws -> [ReadRecord] {
        let batch = LogBatch()
        var records: [ReadRecord] = []
        return try eventually("\(count) records") {
            _ = try poll(into: batch, waitMilliseconds: 0)
            records += batch.copies
            return records.count >= count ? records : nil
        }
    }
}

extension LogWorker {
    /// Polls until so many records have come and so many partitions have ended.
    func read(_ count: Int, ended: Int = 0) throws -> [ReadRecord] {
        let batch = LogBatch()
        var records: [ReadRecord] = []
        return try eventually("\(count) records and \(ended) ends") {
            let outcome = try poll(into: batch, waitMilliseconds: 0)
            records += batch.copies
            return records.count >= count && outcome.ended.count >= ended ? records : nil
        }
    }

    /// Waits until it owns exactly these partitions.
    func acquire(_ partitions: Set<Int>) throws {
        var owned: Set<Int> = []
        _ = try eventually("\(partitions.sorted())") { () -> Bool? in
            while try follow(&owned, waitMilliseconds: 0) {}
            return owned == partitions ? true : nil
        }
    }

    /// Takes the next change of the assignment into account; false when none waits.
    func follow(_ owned: inout Set<Int>, waitMilliseconds: Int) throws -> Bool {
        switch try pollAssignment(waitMilliseconds: waitMilliseconds) {
        case .assigned(let partitions): owned.formUnion(partitions)
        case .revoked(let partitions): owned.subtract(partitions)
        case nil: return false
        }
        return true
    }
}

/// Lets all workers follow the assignment until each of some has partitions, together all, and none
/// two owners.
func share(
    _ partitions: Int, among workers: [any LogWorker], owners: Int
) throws -> [Set<Int>] {
    var owned = Array(repeating: Set<Int>(), count: workers.count)
    return try eventually("\(owners) owners of \(partitions) partitions") {
        for (index, worker) in workers.enumerated() {
            while try worker.follow(&owned[index], waitMilliseconds: 0) {}
        }
        let sum = owned.reduce(0) { $0 + $1.count }
        let all = owned.reduce(into: Set<Int>()) { $0.formUnion($1) }
        let isSettled =
            sum == partitions && all.count == partitions
            && owned.count { !$0.isEmpty } == owners
        return isSettled ? owned : nil
    }
}
