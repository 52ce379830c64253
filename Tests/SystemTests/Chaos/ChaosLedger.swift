// What the topics of a log hold, read as they grow, so that nothing is read twice and compaction
// takes nothing away.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import Testing

/// Everything that was in a log, by partition, each topic in order of offset.
final class ChaosLedger {
    struct Input {
        var type: EventType
        var offset: Int64
        var append: Int64
        var value: [UInt8]
    }

    struct Change {
        var record: ThrottleRecord
        var text: String
    }

    let log: any EventLog
    private(set) var inputs: [[Input]]
    private(set) var changes: [[Change]]
    private(set) var epochs: [[EpochRecord]]
    /// By token of an upload, the numbers of its events found.
    private(set) var events: [String: Set<Int>] = [:]
    /// Events that the fleet has sent; those of uploads that it repeated are there again.
    private(set) var fleetEvents = 0
    /// Events found a second time.
    private(set) var twice: [String] = []
    private var positions: [TopicPartition: Int64] = [:]
    private let documents = DocumentReader()

    init(_ log: any EventLog) {
        self.log = log
        inputs = Array(repeating: [], count: log.partitions)
        changes = inputs.map { _ in [] }
        epochs = inputs.map { _ in [] }
    }

    /// Reads on to the present ends: epochs first, so that what they speak of is there.
    func catchUp() throws {
        try catchUpEpochs()
        try read(log.places(of: .throttle)) { [documents] partition, record, value in
            let decoded = unsafe try value.withUnsafeBytes { bytes in
                unsafe try ThrottleRecord.decode(bytes, with: documents)
            }
            changes[partition].append(
                Change(record: decoded, text: String(decoding: value, as: UTF8.self)))
        }
        try read(Topic.inputs.flatMap { log.places(of: $0) }) { partition, record, value in
            let type = try #require(record.topic.eventType)
            inputs[partition].append(
                Input(type: type, offset: record.offset, append: record.append, value: value))
            noteTokens(of: value)
        }
    }

    func catchUpEpochs() throws {
        try read(log.places(of: .epoch)) { [documents] partition, _, value in
            epochs[partition].append(
                unsafe try value.withUnsafeBytes { bytes in
                    unsafe try EpochRecord.decode(bytes, with: documents)
                })
        }
    }

    /// The offset that was counted up to, for each input of each partition.
    var counted: [TopicPartition: Int64] {
        var counted: [TopicPartition: Int64] = [:]
        for (partition, epochs) in epochs.enumerated() {
            for type in EventType.allCases {
                counted[TopicPartition(Topic(type), partition)] = epochs.last?.offsets[type] ?? 0
            }
        }
        return counted
    }

    /// The last state of each app.
    var states: [AppID: ThrottleChange] {
        var states: [AppID: ThrottleChange] = [:]
        for change in changes.joined() { states[change.record.change.app] = change.record.change }
        return states
    }

    private func read(
        _ places: [TopicPartition],
        _ take: (Int, LogRecord, [UInt8]) throws -> Void
    ) throws {
        for place in places where positions[place] == nil {
            positions[place] = try log.bounds(of: place).lowerBound
        }
        let reader = try log.makeReader(from: positions.filter { places.contains($0.key) })
        defer { reader.close() }
        let batch = LogBatch()
        var ended: Set<TopicPartition> = []
        _ = try eventually("\(places[0].topic.name) is read to its end") { () -> Bool? in
            do throws(LogFault) {
                ended = try reader.poll(into: batch, waitMilliseconds: 50).ended
            } catch {
                guard error.remedy == .retry else { throw error }
                return nil
            }
            for index in batch.records.indices {
                let record = batch.records[index]
                guard let value = unsafe record.value.map({ unsafe [UInt8]($0) }) else { continue }
                try take(record.partition, record, value)
            }
            positions.merge(reader.positions) { max($0, $1) }
            return ended.count == places.count ? true : nil
        }
    }

    /// Events of our own clients carry `"token":"c0-1","n":2`; those of the fleet do not.
    private func noteTokens(of value: [UInt8]) {
        let bytes = Data(value)
        let tokens = Self.places(behind: #""token":""#, in: bytes)
        fleetEvents += Self.places(behind: #""app":""#, in: bytes).count - tokens.count
        for start in tokens {
            let token = bytes[start...].prefix { $0 != UInt8(ascii: "\"") }
            let digits = bytes[token.endIndex...].dropFirst(#"","n":"#.utf8.count)
                .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard let number = Int(String(decoding: digits, as: UTF8.self)) else { continue }
            let name = String(decoding: token, as: UTF8.self)
            if !events[name, default: []].insert(number).inserted {
                twice.append("\(name) \(number)")
            }
        }
    }

    /// Found as bytes: to read every event as JSON takes too long where nothing is optimised.
    private static func places(behind mark: String, in bytes: Data) -> [Data.Index] {
        let mark = Data(mark.utf8)
        var places: [Data.Index] = []
        var start = bytes.startIndex
        while let found = bytes.range(of: mark, in: start..<bytes.endIndex) {
            start = found.upperBound
            places.append(start)
        }
        return places
    }
}
