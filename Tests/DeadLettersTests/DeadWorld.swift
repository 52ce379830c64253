// A log with letters in it, as an evaluator and a collector of an older build have left them.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import SQLiteLog
import Synchronization
import Testing

@testable import DeadLetters

/// A kind of log that retries are tried on.
struct DeadLogKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let open: @Sendable (_ directory: String, LogClock) throws -> any EventLog

    static let memory = DeadLogKind(testDescription: "memory") { _, clock in
        MemoryLog(partitions: 4, clock: clock)
    }
    static let sqlite = DeadLogKind(testDescription: "SQLite") { directory, clock in
        try SQLiteLog(path: directory + "/log.db", partitions: 4, clock: clock)
    }
    static let all = [memory, sqlite]
}

/// A log, its clock, and what tests put into it.
struct DeadWorld {
    static let start: Int64 = 1_800_000_000_000

    let log: any EventLog
    private let time: TestTime

    /// Runs the body with a new world, and removes it.
    static func with(_ kind: DeadLogKind, _ body: (DeadWorld) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-dead-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        let time = TestTime()
        let log = try kind.open(url.path, LogClock { time.now })
        defer { log.close() }
        try body(DeadWorld(log: log, time: time))
    }

    func pass(milliseconds: Int64) { time.pass(milliseconds) }

    /// Appends a record to the input of an app, and returns its place.
    func append(
        _ type: EventType, _ app: String, _ value: String
    ) throws -> (place: TopicPartition, offset: Int64) {
        let key = Array(app.utf8)
        let partition = Partitioner.partition(of: key, partitions: log.partitions)
        let place = TopicPartition(Topic(type), partition)
        let offset = try log.bounds(of: place).upperBound
        try log.append([
            OutgoingRecord(Topic(type), partition: partition, key: key, value: Array(value.utf8))
        ])
        return (place, offset)
    }

    /// Appends a record and the letter that says that it, or one of its events, was refused.
    func refuse(
        _ type: EventType, _ app: String, _ value: String, index: Int? = nil,
        reason: Rejection = .badField
    ) throws {
        let (place, offset) = try append(type, app, value)
        let bytes = Array(value.utf8)
        let range = try unsafe bytes.withUnsafeBytes { bytes in
            try index.map { index in
                try unsafe #require(ArrayFrame.elements(of: bytes))[index]
            }
        }
        try write(
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe DeadLetter(
                    stage: .evaluate, topic: type.name, partition: place.partition,
                    offset: offset, append: time.now, app: AppID(app),
                    event: RejectedEvent(index: index, reason: reason, bytes: range), value: bytes)
            })
    }

    /// A letter about an event of an upload.
    func refuseUpload(_ event: String, app: String, reason: Rejection = .badField) throws {
        let bytes = Array(event.utf8)
        try write(
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe DeadLetter(
                    stage: .collect, topic: "upload", partition: -1, offset: -1, append: time.now,
                    app: AppID(app), event: RejectedEvent(index: 0, reason: reason), value: bytes)
            })
    }

    func write(_ letter: DeadLetter) throws {
        try log.append([OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode())])
    }

    /// The values of a topic, in order of partition and offset.
    func values(_ topic: Topic) throws -> [String] {
        try log.places(of: topic).flatMap { place in
            let scan = try LogScan(log, from: [place: log.bounds(of: place).lowerBound])
            defer { scan.close() }
            var values: [String] = []
            while try scan.next({ records in
                for record in records {
                    let bytes = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                    values.append(String(decoding: bytes, as: UTF8.self))
                }
            }) {}
            return values
        }
    }

    func retry(_ filter: DeadFilter = DeadFilter()) throws -> DeadRetry.Outcome {
        try makeRetry(filter).run()
    }

    func makeRetry(_ filter: DeadFilter = DeadFilter()) -> DeadRetry {
        let time = time
        return DeadRetry(log, filter: filter, by: "test", now: { time.now })
    }
}

/// A clock that tests move.
private final class TestTime: Sendable {
    private let time = Atomic<Int64>(DeadWorld.start)

    var now: Int64 { time.load(ordering: .sequentiallyConsistent) }

    func pass(_ milliseconds: Int64) { time.add(milliseconds, ordering: .sequentiallyConsistent) }
}
