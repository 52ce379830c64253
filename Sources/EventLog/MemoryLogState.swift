// What the memory log holds: partitions, committed positions and the group. A value; `MemoryLog`
// keeps it behind its lock.

struct MemoryLogState: Sendable {
    struct Stored: Sendable {
        let offset: Int64
        let append: Int64
        let key: [UInt8]?
        let value: [UInt8]?

        var bytes: Int { (key?.count ?? 0) + (value?.count ?? 0) }
    }

    struct Partition: Sendable {
        var low: Int64 = 0
        var next: Int64 = 0
        /// In order of offset.
        var records: [Stored] = []

        /// Where in `records` the first one at or after the offset is.
        func index(at offset: Int64) -> Int {
            var range = 0..<records.count
            while !range.isEmpty {
                let middle = (range.lowerBound + range.upperBound) / 2
                if records[middle].offset < offset {
                    range = (middle + 1)..<range.upperBound
                } else {
                    range = range.lowerBound..<middle
                }
            }
            return range.lowerBound
        }
    }

    /// The last commit of a member, so that one in doubt can be called again.
    struct LastCommit: Sendable {
        let number: Int
        let ends: [TopicPartition: Int64]
    }

    let hasMarkers: Bool
    var group: WorkerGroup
    var generation: Int64 = 0
    /// Rises with every append, for those who wait.
    var version = 0
    var isInterrupted = false
    var commitFaults: [MemoryLog.FaultMoment] = []
    var appendFaults: [MemoryLog.FaultMoment] = []
    var committed: [TopicPartition: Int64] = [:]
    var lastCommits: [WorkerGroup.MemberID: LastCommit] = [:]
    /// How often each name of an exclusive appender was taken: the last one holds it.
    var appenders: [String: Int] = [:]

    private var stored: [TopicPartition: Partition] = [:]
    private var latestTime = Int64.min

    init(partitions: Int, hasMarkers: Bool) {
        self.hasMarkers = hasMarkers
        group = WorkerGroup(partitions: partitions)
    }

    func bounds(of place: TopicPartition) -> Range<Int64> {
        guard let partition = stored[place] else { return 0..<0 }
        return partition.low..<partition.next
    }

    /// The time, which never goes back for appends nor for those who ask what is there.
    mutating func time(_ now: Int64) -> Int64 {
        latestTime = max(latestTime, now)
        return latestTime
    }

    mutating func append(_ records: [OutgoingRecord], now: Int64) {
        let append = time(now)
        for record in records {
            stored[record.place, default: Partition()].add(record, append: append)
        }
        version += 1
    }

    mutating func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64], now: Int64
    ) -> [TopicPartition: Int64] {
        append(outputs, now: now)
        committed.merge(positions) { $1 }
        var ends: [TopicPartition: Int64] = [:]
        for place in Set(outputs.map(\.place)) {
            ends[place] = bounds(of: place).upperBound
            if hasMarkers { stored[place]?.next += 1 }
        }
        return ends
    }

    /// Reads up to the end of the range into the batch; returns the position after it.
    func scan(
        _ place: TopicPartition, _ range: Range<Int64>, into batch: LogBatch, limit: Int
    ) -> Int64 {
        guard let partition = stored[place] else { return range.upperBound }
        for record in partition.records[partition.index(at: range.lowerBound)...] {
            guard batch.hasRoom(forBytes: record.bytes, upTo: limit) else { return record.offset }
            batch.append(place, record)
        }
        return range.upperBound
    }

    mutating func deleteRecords(of place: TopicPartition, before offset: Int64) {
        guard let partition = stored[place] else { return }
        let low = min(offset, partition.next)
        stored[place]?.records.removeFirst(partition.index(at: low))
        stored[place]?.low = max(partition.low, low)
    }

    mutating func damage(
        _ place: TopicPartition, at offset: Int64, _ body: ([UInt8]) -> [UInt8]?
    ) {
        guard let partition = stored[place] else { return }
        let index = partition.index(at: offset)
        guard index < partition.records.count, partition.records[index].offset == offset else {
            return
        }
        let record = partition.records[index]
        if let value = body(record.value ?? []) {
            stored[place]?.records[index] = Stored(
                offset: record.offset, append: record.append, key: record.key, value: value)
        } else {
            stored[place]?.records.remove(at: index)
        }
    }

    mutating func maintain(now: Int64) {
        let now = time(now)
        for place in stored.keys {
            switch place.topic.kind {
            case .stream(let retention):
                guard let retention else { continue }
                stored[place]?.removeRecords(before: now - retention)
            case .table:
                stored[place]?.compact(now: now)
            }
        }
    }
}

extension MemoryLogState.Partition {
    fileprivate mutating func add(_ record: OutgoingRecord, append: Int64) {
        records.append(
            MemoryLogState.Stored(
                offset: next, append: append, key: record.key, value: record.value))
        next += 1
    }

    fileprivate mutating func removeRecords(before time: Int64) {
        let count = records.prefix { $0.append < time }.count
        records.removeFirst(count)
        if count > 0 { low = records.first?.offset ?? next }
    }

    fileprivate mutating func compact(now: Int64) {
        var newer: [[UInt8]: Int64] = [:]
        var kept: [MemoryLogState.Stored] = []
        for record in records.reversed() {
            let supersededAt = record.key.flatMap { newer.updateValue(record.append, forKey: $0) }
            if let supersededAt, supersededAt <= now - TableRetention.supersededMilliseconds {
                continue
            }
            if record.value == nil, record.append <= now - TableRetention.tombstoneMilliseconds {
                continue
            }
            kept.append(record)
        }
        records = kept.reversed()
    }
}

extension LogBatch {
    fileprivate func append(_ place: TopicPartition, _ record: MemoryLogState.Stored) {
        unsafe withOptionalBytes(record.key) { key in
            unsafe withOptionalBytes(record.value) { value in
                let isAdded = unsafe append(
                    place.topic, partition: place.partition, offset: record.offset,
                    append: record.append, key: key, value: value)
                precondition(isAdded, "room was found before")
            }
        }
    }

    private func withOptionalBytes(
        _ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void
    ) {
        guard let bytes else { return body(nil) }
        unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }
}
