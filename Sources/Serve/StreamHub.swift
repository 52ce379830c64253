// The clients that stream changes: each has a bounded queue, a filter and an end.

import BrakeModel
import EventLog
import HTTPServer
import Runtime
import Synchronization

/// Hands changes to streaming clients. Any thread.
final class StreamHub: Sendable {
    /// The most states sent at the start of a stream, and the share of its queue for them.
    static let statesMax = 200
    private static let statesQueueShare = 2

    private struct Client {
        let stream: ResponseStream
        /// Nil: all apps.
        let apps: Set<AppID>?
        /// On the monotonic clock, ms.
        let endsAt: Int64

        func wants(_ app: AppID) -> Bool { apps?.contains(app) ?? true }
    }

    private struct State {
        var ring: ChangeRing
        var clients: [Int: Client] = [:]
        var nextClient = 0
        var heartbeatAt: Int64 = 0
    }

    private let settings: ServeSettings
    private let events: StreamEvents
    private let table: ThrottleTable
    private let metrics: ServeMetrics
    private let clock: LogClock
    // Held while an event is put into the queues: sending never blocks, and a client that joins
    // neither misses a change nor gets it twice.
    private let state: Mutex<State>

    init(
        partitions: Int, settings: ServeSettings, table: ThrottleTable, metrics: ServeMetrics,
        clock: LogClock
    ) {
        self.settings = settings
        events = StreamEvents(settings: settings)
        self.table = table
        self.metrics = metrics
        self.clock = clock
        let start = StreamPosition(offsets: Array(repeating: 0, count: partitions))
        state = Mutex(State(ring: ChangeRing(at: start)))
    }

    var clientCount: Int { state.withLock { $0.clients.count } }

    // MARK: From the follower

    /// A table was built anew: clients forget what they know.
    func restart(at position: StreamPosition) {
        state.withLock { state in
            state.ring = ChangeRing(at: position)
            for (id, client) in state.clients {
                sendStart(to: client, id, &state)
            }
        }
    }

    /// Changes were applied and are in the table; the follower now stands at the position.
    func publish(_ changes: [AppliedChange], position: StreamPosition) {
        let image = table.image
        let now = clock.now()
        state.withLock { state in
            for change in changes {
                state.ring.add(change)
                let clients = state.clients.filter { $0.value.wants(change.app) }
                guard !clients.isEmpty else { continue }
                let bytes = events.throttle(
                    change.app, change.entry, id: state.ring.high, in: image, now: now)
                for (id, client) in clients { send(bytes, to: client, id, &state) }
            }
            state.ring.pass(position)
        }
    }

    func publish(_ notices: [Notice]) {
        state.withLock { state in
            for notice in notices {
                let bytes = events.notice(notice)
                for (id, client) in state.clients
                where notice.app.map(client.wants) ?? (client.apps == nil) {
                    send(bytes, to: client, id, &state)
                }
            }
        }
    }

    // MARK: From the keeper

    /// Sends heartbeats when they are due, and ends the streams that have reached their age.
    func keep(monotonic: Int64) {
        let image = table.image
        let now = clock.now()
        state.withLock { state in
            for (id, client) in state.clients where client.endsAt <= monotonic {
                client.stream.finish()
                state.clients[id] = nil
                metrics.streamEnded("age")
            }
            guard monotonic - state.heartbeatAt >= settings.streams.heartbeatMilliseconds else {
                return
            }
            state.heartbeatAt = monotonic
            let bytes = events.heartbeat(id: state.ring.high, in: image, now: now)
            for (id, client) in state.clients { send(bytes, to: client, id, &state) }
        }
    }

    /// Ends all streams: the edge stops.
    func finish() {
        state.withLock { state in
            for client in state.clients.values { client.stream.finish() }
            state.clients = [:]
        }
    }

    // MARK: From requests

    /// A stream from a position on; nil when there are too many. `apps` nil: of all apps.
    func open(apps: Set<AppID>?, lastEventID: String?) -> ResponseStream? {
        let streams = settings.streams
        return state.withLock { state in
            guard state.clients.count < streams.clientsMax else {
                metrics.streamRefused()
                return nil
            }
            let id = state.nextClient
            state.nextClient += 1
            let stream = ResponseStream(queueBytesMax: streams.queueBytesMax) { [weak self] in
                self?.leave(id)
            }
            let jitter = streams.ageJitterMilliseconds
            let client = Client(
                stream: stream, apps: apps,
                endsAt: SystemClock.monotonicMilliseconds() + streams.ageMilliseconds
                    + Int64.random(in: -jitter...jitter))
            state.clients[id] = client
            let retry = streams.drawRetryMilliseconds()
            send(StreamEvents.retry(milliseconds: retry), to: client, id, &state)
            let position = lastEventID.flatMap { StreamPosition($0) }
            if let position, let missed = state.ring.changes(after: position) {
                resume(client, id, missed, from: position, &state)
            } else {
                sendStart(to: client, id, &state)
            }
            return stream
        }
    }

    private func leave(_ id: Int) {
        state.withLock { state in
            // Those that were let go, or finished, are counted already.
            guard state.clients.removeValue(forKey: id) != nil else { return }
            metrics.streamEnded("client")
        }
    }

    private func resume(
        _ client: Client, _ id: Int, _ missed: [AppliedChange], from position: StreamPosition,
        _ state: inout State
    ) {
        let image = table.image
        let now = clock.now()
        var position = position
        for change in missed {
            position.pass(change)
            guard client.wants(change.app) else { continue }
            let bytes = events.throttle(
                change.app, change.entry, id: position, in: image, now: now)
            guard send(bytes, to: client, id, &state) else { return }
        }
        // So that a client with a filter, too, comes back to where it is.
        send(events.heartbeat(id: state.ring.high, in: image, now: now), to: client, id, &state)
    }

    /// A reset, and the states a client has to know: strictest first, as many as its queue bears.
    private func sendStart(to client: Client, _ id: Int, _ state: inout State) {
        let image = table.image
        let now = clock.now()
        let position = state.ring.high
        let (states, count) = image.statesToKnow(
            of: client.apps, max: Self.statesMax, now: now, settings)
        var bytesLeft = settings.streams.queueBytesMax / Self.statesQueueShare
        var parts: [[UInt8]] = []
        for (app, entry) in states {
            let bytes = events.throttle(app, entry, id: position, in: image, now: now)
            bytesLeft -= bytes.count
            if bytesLeft < 0 { break }
            parts.append(bytes)
        }
        let bytes =
            events.reset(id: position, apps: count, states: parts.count)
            + parts.flatMap { $0 } + events.heartbeat(id: position, in: image, now: now)
        send(bytes, to: client, id, &state)
    }

    @discardableResult
    private func send(
        _ bytes: [UInt8], to client: Client, _ id: Int, _ state: inout State
    ) -> Bool {
        switch client.stream.send(bytes) {
        case .queued: return true
        case .overflowed:
            metrics.streamEnded("slow")
            state.clients[id] = nil
        case .ended: state.clients[id] = nil
        }
        return false
    }
}

extension StreamSettings {
    /// When a client that is dropped shall come back: spread evenly, so that no herd forms.
    package func drawRetryMilliseconds() -> Int64 {
        retryMilliseconds + Int64.random(in: 0...retryJitterMilliseconds)
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
