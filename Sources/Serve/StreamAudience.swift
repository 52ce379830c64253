// Who listens to the stream of changes, found by what they listen to.

import BrakeModel
import HTTPServer

/// One client of the stream.
struct StreamClient: Sendable {
    let stream: ResponseStream
    /// Nil: all apps.
    let apps: Set<AppID>?
    /// On the monotonic clock, ms.
    let endsAt: Int64
    /// When it is due a heartbeat, on the monotonic clock, ms.
    var beatAt: Int64

    func wants(_ app: AppID) -> Bool { apps?.contains(app) ?? true }
}

/// All clients, each under a number.
struct StreamAudience: Sendable {
    private var clients: [Int: StreamClient] = [:]
    /// Those that listen to all apps.
    private var toAll: Set<Int> = []
    private var toApp: [AppID: Set<Int>] = [:]

    var count: Int { clients.count }

    var everyone: [Int] { Array(clients.keys) }

    subscript(id: Int) -> StreamClient? { clients[id] }

    /// Who listens to an app; nil: who listens to the whole fleet. O(those).
    func listeners(to app: AppID?) -> [Int] {
        let few = app.flatMap { toApp[$0] } ?? []
        return few.isEmpty ? Array(toAll) : Array(toAll) + few
    }

    mutating func add(_ client: StreamClient, id: Int) {
        clients[id] = client
        guard let apps = client.apps else {
            toAll.insert(id)
            return
        }
        for app in apps { toApp[app, default: []].insert(id) }
    }

    /// Returns whether it was there.
    mutating func remove(_ id: Int) -> Bool {
        guard let client = clients.removeValue(forKey: id) else { return false }
        toAll.remove(id)
        for app in client.apps ?? [] {
            toApp[app]?.remove(id)
            if toApp[app]?.isEmpty == true { toApp[app] = nil }
        }
        return true
    }

    /// Takes clients out; returns them. O(clients).
    mutating func remove(where isOver: (StreamClient) -> Bool) -> [StreamClient] {
        let over = clients.filter { isOver($0.value) }
        for id in over.keys { _ = remove(id) }
        return Array(over.values)
    }

    /// Those that are due a heartbeat; the next comes so many ms later. O(clients).
    mutating func takeBeats(monotonic: Int64, every milliseconds: Int64) -> [Int] {
        let due = clients.filter { $0.value.beatAt <= monotonic }.map(\.key)
        for id in due { clients[id]?.beatAt = monotonic + milliseconds }
        return due
    }
}
