// How long a table keeps what it no longer needs, so that followers have seen it: as in Kafka,
// where these are `min.compaction.lag.ms` and `delete.retention.ms`.

/// Times after which compaction may remove records of tables.
package enum TableRetention {
    /// A record with a newer one of its key, counted from when that one was appended.
    package static let supersededMilliseconds: Int64 = 3_600_000
    /// A record that deletes its key.
    package static let tombstoneMilliseconds: Int64 = 24 * 3_600_000
}
