// What a new client of the stream is told first: forget what you know, and the states to know.

import BrakeModel

/// The start of a stream of all apps, good for others that come to the same position.
struct StreamStart {
    /// How long it may be told to others: it has an age in it.
    private static let keptMilliseconds: Int64 = 1_000

    let bytes: [UInt8]
    let position: StreamPosition
    /// ms since 1970.
    let madeAt: Int64

    func holds(at position: StreamPosition, now: Int64) -> Bool {
        self.position == position && (0..<Self.keptMilliseconds).contains(now - madeAt)
    }
}

extension StreamEvents {
    /// The most states sent at the start of a stream.
    static let statesMax = 200

    /// A reset, and the states: strictest first, as many as the bytes allow.
    func start(
        of apps: Set<AppID>?, at position: StreamPosition, in image: TableImage, now: Int64,
        bytesMax: Int
    ) -> [UInt8] {
        let (states, count) = image.statesToKnow(
            of: apps, max: Self.statesMax, now: now, settings)
        var bytesLeft = bytesMax
        var parts: [[UInt8]] = []
        for (app, entry) in states {
            let bytes = throttle(app, entry, id: position, in: image, now: now)
            bytesLeft -= bytes.count
            if bytesLeft < 0 { break }
            parts.append(bytes)
        }
        return reset(id: position, apps: count, states: parts.count)
            + parts.flatMap { $0 } + heartbeat(id: position, in: image, now: now)
    }
}

extension TableImage {
    /// The apps whose states a new client of the stream has to know, strictest first and at most so
    /// many, and how many there are: all those asked for, or else all that are not Normal.
    func statesToKnow(
        of apps: Set<AppID>?, max limit: Int, now: Int64, _ settings: ServeSettings
    ) -> (states: [(AppID, AppEntry?)], count: Int) {
        guard isReady else { return ([], 0) }
        if let apps {
            let states = apps.sorted().prefix(limit).map { ($0, shard(of: $0).entry(of: $0)) }
            return (states, apps.count)
        }
        var states: [(AppID, AppEntry?)] = []
        for state in ThrottleState.allCases.reversed() where states.count < limit {
            for shard in shards {
                // What is Normal here and too old is served as Caution.
                guard state != .normal || isExpired(shard, now: now, settings) else { continue }
                let found = shard.entries.lazy.filter { $0.change.state == state }
                states += found.prefix(limit - states.count).map { ($0.change.app, $0) }
            }
        }
        let counts = servedCounts(now: now, settings)
        return (states, counts.reduce(0, +) - counts[ThrottleState.normal.severity])
    }
}
