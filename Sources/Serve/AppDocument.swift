// The document of an app as apps, caches and people get it.

package import BrakeModel
package import BrakeWire

/// A served state with what a client needs to act on it and to keep it.
package struct AppDocument: Sendable {
    package var served: ServedState
    package var caps: FrequencyCaps
    package var ttlSeconds: Int
    package var validityMilliseconds: Int64
    private var staleAfterMilliseconds: Int64

    /// So much its age may be behind.
    private static let reusableMillisecondsMax: Int64 = 250

    package init(_ served: ServedState, _ settings: ServeSettings) {
        self.served = served
        // One document for all countries: caches in between know nothing of them.
        caps = served.baseCaps.eased(by: served.annoyance(in: nil))
        ttlSeconds = settings.ttlSeconds
        validityMilliseconds = settings.validityMilliseconds
        staleAfterMilliseconds = settings.staleAfterMilliseconds
    }

    package func bytes(now: Int64) -> [UInt8] {
        JSONWriter.bytes { document in
            document.object { write(into: &$0, issuedAt: now) }
        }
    }

    /// With the reason and the policy, as people and the console get it.
    package func writeWithReason(into list: inout JSONWriter, now: Int64) {
        list.object { document in
            write(into: &document, issuedAt: now)
            document.field("policy", served.entry?.change.policy)
            if let stress = served.stress { document.object("stress") { $0.write(stress) } }
            document.key("why")
            if let why = served.entry?.change.why {
                document.object { $0.write(why) }
            } else {
                document.null()
            }
        }
    }

    /// Says whether two documents tell the same, whatever their age: equal on all replicas.
    package var entityTag: EntityTag { EntityTag(contentHash) }

    /// Of all that the document tells but times that pass by themselves.
    var contentHash: UInt64 {
        let bytes = JSONWriter.bytes { document in
            document.object { write(into: &$0, issuedAt: nil) }
        }
        return unsafe bytes.withUnsafeBytes { unsafe StableHash.of($0) }
    }

    /// Without a time: only what does not change by itself from one moment to the next.
    private func write(into document: inout JSONWriter, issuedAt: Int64?) {
        document.field("app", served.app.text)
        document.field("state", served.state.name)
        document.field("severity", served.state.severity)
        document.field("since", served.since)
        document.field("revision", served.revision)
        document.field("cause", served.cause)
        if let change = served.entry?.change, let override = change.override,
            served.cause == change.cause.name
        {
            document.object("override") { $0.write(override, over: change.computed) }
        }
        document.object("caps") { list in
            list.field("per_hour", caps.perHour)
            list.field("per_day", caps.perDay)
        }
        if let issuedAt {
            document.field("issued_at", issuedAt)
            document.field("age_ms", served.ageMilliseconds)
        }
        document.field("stale", served.isStale)
        if let issuedAt {
            document.field(
                "valid_until", issuedAt + validityMilliseconds - served.ageMilliseconds)
        }
        document.field("ttl_s", ttlSeconds)
        document.field("default_state", ServedState.fallback.name)
    }

    /// How long the same bytes may be given to others: never past the moment at which it grows
    /// stale or expires.
    var reusableMilliseconds: Int64 {
        let limits = [staleAfterMilliseconds, validityMilliseconds]
        let left = limits.map { $0 - served.ageMilliseconds }.filter { $0 >= 0 }
        return min(Self.reusableMillisecondsMax, left.min() ?? .max)
    }

    /// How caches may use it. What may be wrong by the next moment is kept for a second only.
    package var cacheControl: String {
        let isCertain = served.cause != "not_ready" && served.cause != "expired"
        let fresh = isCertain ? ttlSeconds : 1
        let left = max(0, validityMilliseconds - served.ageMilliseconds) / 1_000
        let onError = isCertain ? Int(left) : 1
        return
            "public, max-age=\(fresh), stale-while-revalidate=\(fresh), stale-if-error=\(onError)"
    }
}
