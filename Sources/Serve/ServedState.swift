// What holds for an app at a moment, as far as this edge can know: a pure function of image and
// time.

package import BrakeModel

/// The state that is handed out, which is not always the one in the table.
package struct ServedState: Sendable {
    package var app: AppID
    package var state: ThrottleState
    package var since: Int64
    /// 0: no record stands behind it.
    package var revision: Int64
    package var cause: String
    package var ageMilliseconds: Int64
    package var isStale: Bool
    /// Of people whose country is not known.
    package var baseCaps: FrequencyCaps
    /// The record behind it.
    var entry: AppEntry?
    /// How much its ads annoy, nil when that is not known.
    var stress: StressIndex?

    /// What an app is served while nothing better is known.
    package static let fallback = ThrottleState.caution

    package init(of app: AppID, in image: TableImage, now: Int64, settings: ServeSettings) {
        let shard = image.shard(of: app)
        self.init(app, shard.entry(of: app), shard, image, now, settings)
    }

    /// As above, of an entry found before, or of a deleted app.
    init(
        _ app: AppID, _ entry: AppEntry?, _ shard: TableShard, _ image: TableImage,
        _ now: Int64, _ settings: ServeSettings
    ) {
        self.app = app
        ageMilliseconds = image.age(of: shard, now: now)
        isStale = ageMilliseconds > settings.staleAfterMilliseconds
        baseCaps = image.caps.base(of: app)
        stress = shard.stress(of: app)
        state = ServedState.fallback
        since = 0
        revision = 0
        guard image.isReady else {
            cause = "not_ready"
            return
        }
        guard let entry else {
            cause = "unknown_app"
            return
        }
        self.entry = entry
        revision = entry.change.revision
        if ageMilliseconds > settings.validityMilliseconds, entry.change.state < state {
            cause = "expired"
            // When it expired: the same on every replica that has heard the same.
            since = now - ageMilliseconds + settings.validityMilliseconds
        } else {
            state = entry.change.state
            since = entry.change.since
            cause = entry.change.cause.name
        }
    }
}

extension ServedState {
    /// How annoyed the app's people in a country are taken to be, whatever each has met.
    func annoyance(in country: CountryCode?) -> Annoyance {
        switch stress?.place(of: country).nonFatals ?? 0 {
        case ...0: .none
        case 1: .once
        default: .repeated
        }
    }
}

extension TableImage {
    /// Whether the loose states of a shard are too old to be served.
    func isExpired(_ shard: TableShard, now: Int64, _ settings: ServeSettings) -> Bool {
        age(of: shard, now: now) > settings.validityMilliseconds
    }

    /// Apps by severity, as they are served. O(partitions).
    func servedCounts(now: Int64, _ settings: ServeSettings) -> [Int] {
        var counts = [Int](repeating: 0, count: ThrottleState.allCases.count)
        for shard in shards {
            let isExpired = isExpired(shard, now: now, settings)
            for state in ThrottleState.allCases {
                let served = isExpired ? max(state, ServedState.fallback) : state
                counts[served.severity] += shard.counts[state.severity]
            }
        }
        return counts
    }
}
