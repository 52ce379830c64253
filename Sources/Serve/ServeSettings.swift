// What a person can set of the serve stage.

/// Settings of an edge; times in milliseconds unless named otherwise.
package struct ServeSettings: Sendable {
    /// Older than this, an answer says that it is stale.
    package var staleAfterMilliseconds: Int64 = 10_000
    /// Older than this, nothing looser than Caution is served.
    package var validityMilliseconds: Int64 = 15 * 60_000
    /// When a client shall ask again.
    package var ttlSeconds = 15
    /// How long a client may keep an answer about caps.
    package var capTTLSeconds = 600
    /// The request header in which a proxy gives the country.
    package var countryHeader = "CF-IPCountry"
    package var streams = StreamSettings()
    /// A file with states to serve until the log has been read; nil: none.
    package var bootstrapPath: String?
    /// Where the table is kept for a start without a log; nil: nowhere.
    package var backupPath: String?
    package var backupMilliseconds: Int64 = 30_000

    package init() {}
}

/// Settings of the streams of changes.
package struct StreamSettings: Sendable {
    /// The most clients at a time; further ones are asked to come back.
    package var clientsMax = 500
    /// What may wait for one client; a slower one is let go.
    package var queueBytesMax = 256 << 10
    package var heartbeatMilliseconds: Int64 = 10_000
    /// A client is let go at this age, give or take the jitter, so that load spreads over replicas.
    package var ageMilliseconds: Int64 = 600_000
    package var ageJitterMilliseconds: Int64 = 120_000
    /// A client that was dropped comes back after this time at the earliest,
    package var retryMilliseconds: Int64 = 1_000
    /// and within this time after that, each at its own moment.
    package var retryJitterMilliseconds: Int64 = 15_000

    package init() {}
}
