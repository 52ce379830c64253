// The clients that stream changes: each has a bounded queue, a filter and an end.

import BrakeModel
import EventLog
import HTTPServer
import Runtime
import Synchronization

/// Hands changes to streaming clients. Any thread.
final class StreamHub: Sendable {
    /// The share of a client's queue that the start of its stream may take.
    private static let startQueueShare = 2

    private struct State {
        var ring: ChangeRing
        /// Whether the ring goes on from a table that the log has given. Before, nobody can go on
        /// from anywhere: what a file has told has no position.
        var isComplete = false
        var audience = StreamAudience()
        var nextClient = 0
        var start: StreamStart?
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

    var clientCount: Int { state.withLock { $0.audience.count } }

    // MARK: From the follower

    /// A table was built anew: clients forget what they know.
    func restart(at position: StreamPosition) {
        state.withLock { state in
            state.ring = ChangeRing(at: position)
            state.isComplete = true
            state.start = nil
            for id in state.audience.everyone { sendStart(to: id, &state) }
        }
    }

    /// Changes were applied and are in the table; the follower now stands at the position.
    func publish(_ changes: [AppliedChange], position: StreamPosition) {
        let image = table.image
        let now = clock.now()
        state.withLock { state in
            for change in changes {
                state.ring.add(change)
                let listeners = state.audience.listeners(to: change.app)
                guard !listeners.isEmpty else { continue }
                let bytes = events.throttle(
                    change.app, change.entry, id: state.ring.high, in: image, now: now)
                for id in listeners { send(bytes, to: id, &state) }
            }
            state.ring.pass(position)
        }
    }

    func publish(_ notices: [Notice]) {
        state.withLock { state in
            for notice in notices {
                let bytes = events.notice(notice)
                for id in state.audience.listeners(to: notice.app) { send(bytes, to: id, &state) }
            }
        }
    }

    // MARK: From the keeper

    /// Sends heartbeats when they are due, and ends the streams that have reached their age.
    func keep(monotonic: Int64) {
        let image = table.image
        let now = clock.now()
        state.withLock { state in
            for client in state.audience.remove(where: { $0.endsAt <= monotonic }) {
                client.stream.finish()
                metrics.streamEnded("age")
            }
            let due = state.audience.takeBeats(
                monotonic: monotonic, every: settings.streams.heartbeatMilliseconds)
            guard !due.isEmpty else { return }
            let bytes = events.heartbeat(id: state.ring.high, in: image, now: now)
            for id in due { send(bytes, to: id, &state) }
        }
    }

    /// Ends all streams: the edge stops.
    func finish() {
        state.withLock { state in
            for client in state.audience.remove(where: { _ in true }) { client.stream.finish() }
        }
    }

    // MARK: From requests

    /// A stream from a position on; nil when there are too many. `apps` nil: of all apps.
    func open(apps: Set<AppID>?, lastEventID: String?) -> ResponseStream? {
        let streams = settings.streams
        return state.withLock { state in
            guard state.audience.count < streams.clientsMax else {
                metrics.streamRefused()
                return nil
            }
            let id = state.nextClient
            state.nextClient += 1
            let stream = ResponseStream(queueBytesMax: streams.queueBytesMax) { [weak self] in
                self?.leave(id)
            }
            let now = SystemClock.monotonicMilliseconds()
            let jitter = streams.ageJitterMilliseconds
            state.audience.add(
                StreamClient(
                    stream: stream, apps: apps,
                    endsAt: now + streams.ageMilliseconds + Int64.random(in: -jitter...jitter),
                    // Each at a moment of its own, or all would have to be woken at once.
                    beatAt: now + Int64.random(in: 0...streams.heartbeatMilliseconds)),
                id: id)
            let retry = streams.drawRetryMilliseconds()
            send(StreamEvents.retry(milliseconds: retry), to: id, &state)
            let position = lastEventID.flatMap { StreamPosition($0) }
            if let position, state.isComplete, let missed = state.ring.changes(after: position) {
                resume(id, missed, from: position, &state)
            } else {
                sendStart(to: id, &state)
            }
            return stream
        }
    }

    private func leave(_ id: Int) {
        state.withLock { state in
            // Those that were let go, or finished, are counted already.
            guard state.audience.remove(id) else { return }
            metrics.streamEnded("client")
        }
    }

    private func resume(
        _ id: Int, _ missed: [AppliedChange], from position: StreamPosition, _ state: inout State
    ) {
        let image = table.image
        let now = clock.now()
        var position = position
        for change in missed {
            position.pass(change)
            guard let client = state.audience[id] else { return }
            guard client.wants(change.app) else { continue }
            let bytes = events.throttle(
                change.app, change.entry, id: position, in: image, now: now)
            send(bytes, to: id, &state)
        }
        // So that a client with a filter, too, comes back to where it is.
        send(events.heartbeat(id: state.ring.high, in: image, now: now), to: id, &state)
    }

    /// A reset, and the states a client has to know.
    private func sendStart(to id: Int, _ state: inout State) {
        guard let client = state.audience[id] else { return }
        let position = state.ring.high
        let now = clock.now()
        // When a herd of clients comes, what it is told is looked for once.
        if client.apps == nil, let known = state.start, known.holds(at: position, now: now) {
            return send(known.bytes, to: id, &state)
        }
        let bytes = events.start(
            of: client.apps, at: position, in: table.image, now: now,
            bytesMax: settings.streams.queueBytesMax / Self.startQueueShare)
        if client.apps == nil {
            state.start = StreamStart(bytes: bytes, position: position, madeAt: now)
        }
        send(bytes, to: id, &state)
    }

    private func send(_ bytes: [UInt8], to id: Int, _ state: inout State) {
        guard let client = state.audience[id] else { return }
        switch client.stream.send(bytes) {
        case .queued: break
        case .overflowed:
            metrics.streamEnded("slow")
            _ = state.audience.remove(id)
        case .ended: _ = state.audience.remove(id)
        }
    }
}

extension StreamSettings {
    /// When a client that is dropped shall come back: spread evenly, so that no herd forms.
    package func drawRetryMilliseconds() -> Int64 {
        retryMilliseconds + Int64.random(in: 0...retryJitterMilliseconds)
    }
}
