// Reading: a connection of its own for each reader, and short transactions, so that neither appends
// nor checkpoints wait for long.
import EventLog

/// The connection and statements of one reader.
///
/// Unchecked: one thread uses it at a time, its reader's owner or the holder of a lock.
final class ReadSession: @unchecked Sendable {
    private let layout: Layout
    private let connection: Connection
    private let begin: Statement
    private let end: Statement
    private let dataVersion: Statement
    private let allBounds: Statement
    private let oneBounds: Statement
    private let records: Statement
    private let position: Statement

    init(path: String, _ layout: Layout) throws(LogFault) {
        self.layout = layout
        connection = try Connection(path: path, isCreating: false)
        do throws(LogFault) {
            begin = try connection.prepare("BEGIN")
            end = try connection.prepare("COMMIT")
            dataVersion = try connection.prepare("PRAGMA data_version")
            allBounds = try connection.prepare("SELECT slot, low, next FROM slot")
            oneBounds = try connection.prepare("SELECT low, next FROM slot WHERE slot = ?1")
            records = try connection.prepare(
                """
                SELECT row, append, key, value FROM record
                WHERE row >= ?1 AND row < ?2 ORDER BY row
                """)
            position = try connection.prepare("SELECT next FROM position WHERE slot = ?1")
        } catch {
            connection.close()
            throw error
        }
    }

    func close() {
        connection.close()
    }

    /// Changes when anybody has committed since it was asked last.
    func version() throws(LogFault) -> Int64 {
        try dataVersion.firstNumber() ?? 0
    }

    func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        oneBounds.bind(layout.slot(of: place))
        guard try oneBounds.step() else { return 0..<0 }
        defer { oneBounds.reset() }
        return oneBounds.number(0)..<max(oneBounds.number(0), oneBounds.number(1))
    }

    func position(of place: TopicPartition) throws(LogFault) -> Int64? {
        position.bind(layout.slot(of: place))
        return try position.firstNumber()
    }

    /// Fills the batch from one moment of the log; returns the partitions read to their ends.
    func fill(
        _ batch: LogBatch, _ follower: inout Follower
    ) throws(LogFault) -> Set<TopicPartition> {
        try begin.run()
        let result = Result { () throws(LogFault) in
            let bounds = try readBounds()
            return try follower.fill(
                batch, bounds: { bounds[layout.slot(of: $0)] ?? 0..<0 },
                scan: { place, range, limit throws(LogFault) in
                    try scan(place, range, into: batch, limit: limit)
                })
        }
        // Ends a transaction that has only read: there is nothing that could fail to be kept.
        if connection.isInTransaction { try? end.run() }
        return try result.get()
    }

    private func readBounds() throws(LogFault) -> [Int64: Range<Int64>] {
        var bounds: [Int64: Range<Int64>] = [:]
        while try allBounds.step() {
            let low = allBounds.number(1)
            bounds[allBounds.number(0)] = low..<max(low, allBounds.number(2))
        }
        return bounds
    }

    private func scan(
        _ place: TopicPartition, _ range: Range<Int64>, into batch: LogBatch, limit: Int
    ) throws(LogFault) -> Int64 {
        let slot = layout.slot(of: place)
        records.bind(
            Layout.row(slot: slot, offset: range.lowerBound),
            Layout.row(slot: slot, offset: range.upperBound))
        defer { records.reset() }
        while try records.step() {
            let offset = Layout.offset(ofRow: records.number(0))
            let (key, value) = unsafe (records.bytes(2), records.bytes(3))
            let count = unsafe (key?.count ?? 0) + (value?.count ?? 0)
            guard batch.hasRoom(forBytes: count, upTo: limit) else { return offset }
            let isAdded = unsafe batch.append(
                place.topic, partition: place.partition, offset: offset,
                append: records.number(1), key: key, value: value)
            precondition(isAdded, "room was found before")
        }
        return range.upperBound
    }
}
