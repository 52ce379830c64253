// The fleet in pages: sorted by app, whatever partition an app is in.

import BrakeModel

/// What a request for the fleet asks for.
struct FleetQuery: Sendable {
    static let limitMax = 1_000

    /// Begin behind this app.
    var after: AppID?
    /// Only apps served in this state.
    var state: ThrottleState?
    var limit = FleetQuery.limitMax
}

/// One page of the fleet.
struct FleetPage: Sendable {
    let apps: [ServedState]
    /// Where the next page begins; nil when there is none.
    let next: AppID?

    /// O(apps) with a filter, else O(limit log apps).
    init(_ query: FleetQuery, of image: TableImage, now: Int64, settings: ServeSettings) {
        let wanted = query.limit + 1
        var lists: [(shard: TableShard, entries: [AppEntry])] = []
        for shard in image.shards where image.isReady {
            let isExpired = image.isExpired(shard, now: now, settings)
            var start = 0
            if let after = query.after {
                start = shard.index(from: after)
                if start < shard.entries.count, shard.entries[start].change.app == after {
                    start += 1
                }
            }
            var entries: [AppEntry] = []
            for entry in shard.entries[start...] where entries.count < wanted {
                let state = entry.change.state
                let served = isExpired ? max(state, ServedState.fallback) : state
                if query.state ?? served == served { entries.append(entry) }
            }
            if !entries.isEmpty { lists.append((shard, entries)) }
        }
        // Each list is sorted: the least head is the next app, until there is one more than asked.
        var heads = [Int](repeating: 0, count: lists.count)
        var apps: [ServedState] = []
        while apps.count < wanted {
            var least: Int?
            for index in lists.indices where heads[index] < lists[index].entries.count {
                guard let known = least else {
                    least = index
                    continue
                }
                let entry = lists[index].entries[heads[index]]
                if entry.change.app < lists[known].entries[heads[known]].change.app {
                    least = index
                }
            }
            guard let least else { break }
            let entry = lists[least].entries[heads[least]]
            heads[least] += 1
            apps.append(
                ServedState(entry.change.app, entry, lists[least].shard, image, now, settings))
        }
        let hasMore = apps.count == wanted
        if hasMore { apps.removeLast() }
        self.apps = apps
        next = hasMore ? apps.last?.app : nil
    }
}
