// What a log holds, read from outside of the program that wrote it.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import SQLiteLog
import Testing

/// A record as it lies in the log.
struct Stored: Equatable {
    var place: TopicPartition
    var offset: Int64
    var value: [UInt8]
}

extension EventLog {
    /// All records of some partitions of a topic, each in order of offset.
    func stored(_ topic: Topic) throws -> [Stored] {
        var positions: [TopicPartition: Int64] = [:]
        for place in places(of: topic) { positions[place] = try bounds(of: place).lowerBound }
        let reader = try makeReader(from: positions)
        defer { reader.close() }
        let batch = LogBatch()
        var stored: [Stored] = []
        var ended: Set<TopicPartition> = []
        while ended.count < positions.count {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 0)
            for index in batch.records.indices {
                let record = batch.records[index]
                let value = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                stored.append(
                    Stored(
                        place: TopicPartition(record.topic, record.partition),
                        offset: record.offset, value: value))
            }
            ended = outcome.ended
        }
        return stored.sorted { ($0.place, $0.offset) < ($1.place, $1.offset) }
    }

    func throttleRecords() throws -> [ThrottleRecord] {
        let reader = DocumentReader()
        return try stored(.throttle).map { record in
            unsafe try record.value.withUnsafeBytes { bytes in
                unsafe try ThrottleRecord.decode(bytes, with: reader)
            }
        }
    }

    func epochRecords() throws -> [EpochRecord] {
        let reader = DocumentReader()
        return try stored(.epoch).map { record in
            unsafe try record.value.withUnsafeBytes { bytes in
                unsafe try EpochRecord.decode(bytes, with: reader)
            }
        }
    }

    /// Whether the last epoch of every partition ends where its inputs end.
    func isCounted() throws -> Bool {
        var last: [Int: EpochRecord] = [:]
        for epoch in try epochRecords() { last[epoch.partition] = epoch }
        for partition in 0..<partitions {
            for type in EventType.allCases {
                let place = TopicPartition(Topic(type), partition)
                let end = try bounds(of: place).upperBound
                guard last[partition]?.offsets[type] ?? 0 == end else { return false }
            }
        }
        return true
    }
}

/// A folder for one test, gone with it, and what lies in it.
struct Workplace {
    let folder: String
    var path: String { folder + "/log.db" }
    var place: String { "sqlite:\(path)" }

    func open() throws -> SQLiteLog { try SQLiteLog(path: path) }

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        let path = folder + "/" + name
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}
