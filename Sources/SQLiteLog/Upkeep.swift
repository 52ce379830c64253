// Retention and compaction in bounded slices, each a transaction of its own between those of
// others.
import EventLog

/// The statements by which records go, on the connection that writes.
final class Upkeep {
    /// What a slice may delete, so that appends wait for some milliseconds at most.
    static let sliceRows = 2_000
    static let sliceBytes: Int64 = 8 << 20

    private let retentions: [(slot: Int64, milliseconds: Int64)]
    private let oldest: Statement
    private let deleteRecords: Statement
    private let dueGarbage: Statement
    private let deleteNewest: Statement
    private let deleteRecord: Statement
    private let deleteGarbage: Statement

    init(_ connection: Connection, _ layout: Layout) throws(LogFault) {
        var retentions: [(Int64, Int64)] = []
        for topic in Topic.all {
            guard case .stream(let milliseconds?) = topic.kind else { continue }
            for partition in 0..<(topic.isPartitioned ? layout.partitions : 1) {
                retentions.append((layout.slot(of: TopicPartition(topic, partition)), milliseconds))
            }
        }
        self.retentions = retentions
        oldest = try connection.prepare(
            """
            SELECT row, append, coalesce(length(value), 0) FROM record
            WHERE row >= ?1 AND row < ?2 ORDER BY row
            """)
        deleteRecords = try connection.prepare(
            "DELETE FROM record WHERE row >= ?1 AND row < ?2")
        dueGarbage = try connection.prepare(
            "SELECT due, row FROM garbage WHERE due <= ?1 ORDER BY due, row LIMIT ?2")
        deleteNewest = try connection.prepare(
            """
            DELETE FROM newest WHERE slot = ?1 AND row = ?2
            AND key = (SELECT key FROM record WHERE row = ?2)
            """)
        deleteRecord = try connection.prepare("DELETE FROM record WHERE row = ?1")
        deleteGarbage = try connection.prepare("DELETE FROM garbage WHERE due = ?1 AND row = ?2")
    }

    /// Deletes what is due up to the limits of a slice; returns whether more waits.
    func runSlice(_ transaction: inout WriteTransaction) throws(LogFault) -> Bool {
        var (rows, bytes) = (Upkeep.sliceRows, Upkeep.sliceBytes)
        for (slot, milliseconds) in retentions where rows > 0 && bytes > 0 {
            let due = transaction.append - milliseconds
            try expire(slot, before: due, &transaction, rows: &rows, bytes: &bytes)
        }
        if rows > 0, bytes > 0 { try compact(now: transaction.append, rows: &rows) }
        return rows <= 0 || bytes <= 0
    }

    private func expire(
        _ slot: Int64, before time: Int64, _ transaction: inout WriteTransaction, rows: inout Int,
        bytes: inout Int64
    ) throws(LogFault) {
        let low = try transaction.low(slot: slot)
        let first = Layout.row(slot: slot, offset: low)
        oldest.bind(first, Layout.row(slot: slot + 1, offset: 0))
        // Append times rise with offsets, so the first record to stay ends the search.
        var last: Int64?
        while rows > 0, bytes > 0, try oldest.step() {
            guard oldest.number(1) < time else { break }
            last = oldest.number(0)
            rows -= 1
            bytes -= oldest.number(2)
        }
        oldest.reset()
        guard let last else { return }
        deleteRecords.bind(first, last + 1)
        try deleteRecords.run()
        try transaction.raiseLow(slot: slot, to: Layout.offset(ofRow: last) + 1)
    }

    private func compact(now: Int64, rows: inout Int) throws(LogFault) {
        var due: [(due: Int64, row: Int64)] = []
        dueGarbage.bind(now, Int64(rows))
        while try dueGarbage.step() {
            due.append((dueGarbage.number(0), dueGarbage.number(1)))
        }
        for entry in due {
            // Only a tombstone can still be the newest of its key when it goes.
            deleteNewest.bind(Layout.slot(ofRow: entry.row), entry.row)
            try deleteNewest.run()
            deleteRecord.bind(entry.row)
            try deleteRecord.run()
            deleteGarbage.bind(entry.due, entry.row)
            try deleteGarbage.run()
        }
        rows -= due.count
    }
}
