// Where a poll puts records: one batch, refilled again and again, so that reading allocates nothing
// per record. Logs that copy use its arena, logs that lend their own memory hand in a release.

/// Records read from a log, with their bytes. One thread owns it: the one that polls.
@safe
package final class LogBatch {
    /// The usual limit of a batch.
    package static let defaultBytesMax = 4 << 20
    /// What a record counts besides its bytes, so that empty ones have a limit too.
    package static let recordOverhead = 64

    /// What it holds, and how much that is.
    package struct Content {
        /// In the order in which the log gave them: each partition by offset.
        package fileprivate(set) var records: ContiguousArray<LogRecord> = []
        /// The bytes of all, overhead of records included.
        package fileprivate(set) var bytes = 0

        /// Whether a record of so many bytes can be added without exceeding the limit. The first
        /// one always can.
        package func hasRoom(forBytes count: Int, upTo limit: Int) -> Bool {
            records.isEmpty || bytes + count + LogBatch.recordOverhead <= limit
        }

        /// Adds a record whose bytes live elsewhere until `onReset`'s closure releases them; false,
        /// and nothing done, when that would exceed the limit.
        package mutating func append(lent record: LogRecord, upTo limit: Int) -> Bool {
            let count = unsafe (record.key?.count ?? 0) + (record.value?.count ?? 0)
            guard hasRoom(forBytes: count, upTo: limit) else { return false }
            hold(record, bytes: count)
            return true
        }

        fileprivate mutating func hold(_ record: LogRecord, bytes count: Int) {
            records.append(record)
            bytes += count + LogBatch.recordOverhead
        }
    }

    private var content = Content()

    /// The most bytes it takes, overhead of records included; one record alone may be larger.
    package let bytesMax: Int

    package var records: ContiguousArray<LogRecord> { content.records }
    package var bytes: Int { content.bytes }

    private var arena: UnsafeMutableRawBufferPointer
    private var arenaUsed = 0
    private var releases: [() -> Void] = []

    package init(bytesMax: Int = LogBatch.defaultBytesMax) {
        precondition(bytesMax > 0, "a batch has room for something")
        self.bytesMax = bytesMax
        unsafe arena = LogBatch.allocateArena(bytesMax)
    }

    deinit {
        for release in releases { release() }
        unsafe arena.deallocate()
    }

    package var isEmpty: Bool { content.records.isEmpty }

    /// Whether a record of so many bytes can be added without exceeding the limit. The first one
    /// always can.
    package func hasRoom(forBytes count: Int, upTo limit: Int) -> Bool {
        content.hasRoom(forBytes: count, upTo: limit)
    }

    /// Hands out the content to be added to, once for many records: that nobody else uses it
    /// meanwhile is checked each time.
    package func fill<Result, Fault: Error>(
        _ body: (inout Content) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        try body(&content)
    }

    /// Adds a record and copies its bytes; false, and nothing done, when it has no room.
    package func append(
        _ topic: Topic, partition: Int, offset: Int64, append: Int64,
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) -> Bool {
        let count = unsafe (key?.count ?? 0) + (value?.count ?? 0)
        guard hasRoom(forBytes: count, upTo: bytesMax) else { return false }
        if unsafe arenaUsed + count > arena.count {
            // Only the first record can be larger than the arena: nothing points into it yet.
            precondition(arenaUsed == 0, "the limit of bytes is above that of the arena")
            unsafe arena.deallocate()
            unsafe arena = LogBatch.allocateArena(count)
        }
        let record = unsafe LogRecord(
            topic: topic, partition: partition, offset: offset, append: append,
            key: key.map { unsafe copy($0) }, value: value.map { unsafe copy($0) })
        content.hold(record, bytes: count)
        return true
    }

    /// Keeps what releases lent bytes, to be run at the next `reset` or at the end of the batch.
    package func onReset(_ release: @escaping () -> Void) {
        releases.append(release)
    }

    /// Hands over the records in runs of one partition, so that what is looked up for a run need
    /// not be looked up for each record.
    package func forEachRun(_ body: (TopicPartition, ArraySlice<LogRecord>) -> Void) {
        let records = content.records
        var first = 0
        while first < records.count {
            let place = TopicPartition(records[first].topic, records[first].partition)
            var end = first + 1
            while end < records.count, records[end].topic == place.topic,
                records[end].partition == place.partition
            {
                end += 1
            }
            body(place, records[first..<end])
            first = end
        }
    }

    /// Empties it and keeps its memory; the bytes of all its records are gone after this.
    package func reset() {
        content.records.removeAll(keepingCapacity: true)
        content.bytes = 0
        arenaUsed = 0
        for release in releases { release() }
        releases.removeAll(keepingCapacity: true)
        if unsafe arena.count > bytesMax {
            unsafe arena.deallocate()
            unsafe arena = LogBatch.allocateArena(bytesMax)
        }
    }

    private func copy(_ source: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let target = unsafe UnsafeMutableRawBufferPointer(
            rebasing: arena[arenaUsed..<(arenaUsed + source.count)])
        unsafe target.copyMemory(from: source)
        arenaUsed += source.count
        return UnsafeRawBufferPointer(target)
    }

    private static func allocateArena(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
    }
}
