// What a log holds of one partition, read once and decoded, for the checkers.

import BrakeModel
import BrakeWire
import EventLog

/// The records of one partition of every topic, in order of offset.
struct PartitionRecords {
    struct Input {
        var type: EventType
        var offset: Int64
        var append: Int64
        var key: [UInt8]?
        var value: [UInt8]?
    }

    /// A record that retention has deleted.
    struct Deleted {
        var offset: Int64
        var append: Int64
        var key: [UInt8]?
        var value: [UInt8]?
    }

    let partition: Int
    private(set) var inputs: [[Input]] = []
    private(set) var epochs: [EpochRecord] = []
    /// Where each epoch stands, by number.
    private(set) var epochOffsets: [Int64: Int64] = [:]
    /// As they stand, and decoded.
    private(set) var throttle: [(bytes: [UInt8], record: ThrottleRecord)] = []
    /// As they stand, a deletion without bytes, with the epoch of those that tell it.
    private(set) var stress: [(bytes: [UInt8], epoch: Int64?)] = []
    private(set) var snapshots: [Int64: [UInt8]] = [:]
    /// Of people, the same for every partition.
    private(set) var control: [(offset: Int64, value: [UInt8]?)] = []
    let partitions: Int

    /// What is there, what was there, and without what no lane has written.
    init(
        _ log: MemoryLog, _ partition: Int, deleted: [TopicPartition: [Deleted]] = [:],
        without forged: Set<TopicPartition.Offset> = []
    ) throws {
        self.partition = partition
        partitions = log.partitions
        let documents = DocumentReader()
        for type in EventType.allCases {
            let place = TopicPartition(Topic.inputs[Int(type.rawValue)], partition)
            inputs.append(
                (deleted[place] ?? []).map {
                    Input(
                        type: type, offset: $0.offset, append: $0.append, key: $0.key,
                        value: $0.value)
                })
            try Self.read(log, place) { record in
                inputs[inputs.count - 1].append(
                    Input(
                        type: type, offset: record.offset, append: record.append,
                        key: record.keyBytes, value: record.valueBytes))
            }
        }
        for record in deleted[TopicPartition(.epoch, partition)] ?? [] {
            let epoch = unsafe try (record.value ?? []).withUnsafeBytes {
                unsafe try EpochRecord.decode($0, with: documents)
            }
            epochs.append(epoch)
        }
        try Self.read(log, TopicPartition(.epoch, partition)) { record in
            guard let value = unsafe record.value else { return }
            let epoch = unsafe try EpochRecord.decode(value, with: documents)
            epochs.append(epoch)
            epochOffsets[epoch.number] = record.offset
        }
        let states = TopicPartition(.throttle, partition)
        try Self.read(log, states) { record in
            guard !forged.contains(.init(place: states, offset: record.offset)),
                let value = unsafe record.value
            else { return }
            throttle.append(
                (record.valueBytes ?? [], unsafe try ThrottleRecord.decode(value, with: documents)))
        }
        try Self.read(log, TopicPartition(.stress, partition)) { record in
            let decoded = unsafe try record.value.map {
                unsafe try StressRecord.decode($0, with: documents)
            }
            stress.append((record.valueBytes ?? [], decoded?.epoch))
        }
        try Self.read(log, TopicPartition(.snapshot, partition)) { record in
            snapshots[record.offset] = record.valueBytes
        }
        try Self.read(log, TopicPartition(.control, 0)) { record in
            control.append((record.offset, record.valueBytes))
        }
    }

    /// The clock and the end offsets of the inputs of the last epoch.
    static func lastEpoch(_ log: MemoryLog, _ partition: Int) -> (clock: Int64, ends: [Int64])? {
        let place = TopicPartition(.epoch, partition)
        let bounds = log.bounds(of: place)
        let documents = DocumentReader()
        var last: EpochRecord?
        // A marker may be the last.
        try? read(log, place, from: max(bounds.lowerBound, bounds.upperBound - 2)) { record in
            guard let value = unsafe record.value else { return }
            last = unsafe try EpochRecord.decode(value, with: documents)
        }
        guard let last else { return nil }
        return (last.clock, EventType.allCases.map { last.offsets[$0] })
    }

    /// Hands over every record of a place, to its end.
    static func read(
        _ log: MemoryLog, _ place: TopicPartition, from first: Int64? = nil,
        _ body: (LogRecord) throws -> Void
    ) throws {
        let start = first ?? log.bounds(of: place).lowerBound
        let reader = log.makeReader(from: [place: start])
        defer { reader.close() }
        let batch = LogBatch(bytesMax: 1 << 16)
        while true {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 0)
            for record in batch.records { try body(record) }
            if outcome.ended.contains(place) { return }
        }
    }
}

extension LogRecord {
    var keyBytes: [UInt8]? { unsafe key.map { unsafe [UInt8]($0) } }
    var valueBytes: [UInt8]? { unsafe value.map { unsafe [UInt8]($0) } }
}
