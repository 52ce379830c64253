// Plays a fleet into a collector in real time: one thread for the world, some that send, one that
// asks the edge. It only obeys: what happens is decided by the fleet.
internal import BrakeModel
internal import Glibc
package import Runtime

/// Where a fleet sends, and for how long.
package struct TrafficSettings: Sendable {
    package static let connectionsMax = 256

    package var fleet: FleetSettings
    /// `http://host:port`, without a path.
    package var collector: String
    package var edge: String
    /// 0: until asked to stop.
    package var durationMilliseconds = 0
    package var key: String?
    package var connections = 4
    /// Whether devices ask the edge and obey.
    package var hasFeedback = false

    package init(fleet: FleetSettings, collector: String, edge: String? = nil) {
        self.fleet = fleet
        self.collector = collector
        self.edge = edge ?? collector
    }
}

/// What one run has done so far.
package struct TrafficStatus: Sendable {
    package var elapsedMilliseconds: Int64
    package var totals: SendTotals
    package var waitingUploads: Int
    package var heldUpMilliseconds: Int64
    /// Apps by severity of their state; nil without feedback.
    package var appsByState: [Int]?
    package var feedbackTrouble: String?
}

/// One run of a fleet.
package struct TrafficRun {
    private static let stepMilliseconds: Int64 = 20
    /// The world falls behind no more than this: then it stands still until there is room.
    private static let lagMillisecondsMax: Int64 = 500
    private static let statusMilliseconds: Int64 = 1_000
    private static let drainMilliseconds = 15_000

    private let settings: TrafficSettings
    private let queue = UploadQueue()
    private let totals = Monitor(SendTotals())
    private let states: Monitor<[EdgeState?]>
    private let feedbackTrouble = Monitor<String?>(nil)
    private var fleet: Fleet
    private var obeyed: [EdgeState?]
    private var heldUp: Int64 = 0
    private let begun = SystemClock.monotonicMilliseconds()

    package init(_ settings: TrafficSettings) {
        precondition((1...TrafficSettings.connectionsMax).contains(settings.connections))
        self.settings = settings
        fleet = Fleet(settings.fleet)
        obeyed = Array(repeating: nil, count: settings.fleet.apps)
        states = Monitor(Array(repeating: nil, count: settings.fleet.apps))
    }

    /// Blocks until the time is over or `stop` is requested. `report` is called once a second.
    package mutating func run(
        stop: StopSignal, report: (TrafficStatus) -> Void
    ) -> TrafficSummary {
        let abandon = StopSignal()
        let senders = (0..<settings.connections).map { index in
            let sender = TrafficSender(
                url: settings.collector + "/v1/events", key: settings.key, queue: queue,
                totals: totals, abandon: abandon)
            return WorkerThread(name: "send-\(index)") { sender.run() }
        }
        let endOfFeedback = StopSignal()
        let poller = startFeedback(until: endOfFeedback)
        live(until: stop, report: report)
        queue.add(fleet.finish())
        queue.close()
        drain(isHurried: stop.isRequested)
        abandon.request(reason: "the run is over")
        endOfFeedback.request(reason: "the run is over")
        for sender in senders { sender.join() }
        poller?.join()
        report(status())
        return TrafficSummary(
            settings: settings, status: status(),
            apps: fleet.tallies.enumerated().map { index, entry in
                TrafficSummary.AppLine(index: index, app: entry.app, tally: entry.tally)
            })
    }

    private func startFeedback(until stop: StopSignal) -> WorkerThread? {
        guard settings.hasFeedback else { return nil }
        let poller = FeedbackPoller(
            edge: settings.edge, apps: settings.fleet.appIDs(), stop: stop, states: states,
            trouble: feedbackTrouble)
        return WorkerThread(name: "feedback") { poller.run() }
    }

    /// The clock of the run: monotonic, so that a jump of the wall clock does not jerk the world.
    private var realNow: Int64 {
        settings.fleet.start + SystemClock.monotonicMilliseconds() - begun
    }

    private mutating func live(until stop: StopSignal, report: (TrafficStatus) -> Void) {
        let end =
            settings.durationMilliseconds > 0
            ? settings.fleet.start + Int64(settings.durationMilliseconds) : Int64.max
        var nextStatus = settings.fleet.start + Self.statusMilliseconds
        while !stop.isRequested && !totals.read({ $0.isRefused }) {
            let now = min(realNow, end)
            obeyStates()
            catchUp(to: now)
            if now >= nextStatus {
                report(status())
                nextStatus += Self.statusMilliseconds
            }
            if now >= end { return }
            stop.wait(milliseconds: Int(Self.stepMilliseconds))
        }
    }

    /// Lives until real time `now`, in small steps, or holds the world up while nothing is taken.
    private mutating func catchUp(to now: Int64) {
        let goal = fleet.worldTime(at: now)
        let step = max(1, Int64(Double(Self.stepMilliseconds) * settings.fleet.speed))
        while fleet.now < goal && queue.hasRoom {
            queue.add(fleet.advance(to: min(goal, fleet.now + step)))
        }
        let lag = now - fleet.realTime(at: fleet.now)
        guard fleet.now < goal && lag > Self.lagMillisecondsMax else { return }
        fleet.holdUp(milliseconds: lag)
        heldUp += lag
    }

    private mutating func obeyStates() {
        guard settings.hasFeedback else { return }
        let known = states.read { $0 }
        for index in known.indices where known[index] != obeyed[index] {
            guard let state = known[index] else { continue }
            fleet.obey(app: index, state: state.state, revision: state.revision)
            obeyed[index] = state
        }
    }

    /// Waits until what is left has been sent; not for long when somebody waits for the end.
    private func drain(isHurried: Bool) {
        let patience = isHurried ? Self.drainMilliseconds / 5 : Self.drainMilliseconds
        let handled: Int? = totals.wait(milliseconds: patience) { totals in
            let isDone = totals.accepted + totals.rejected + totals.lost >= totals.sent
            return isDone && queue.isEmpty ? totals.sent : nil
        }
        if handled == nil && !queue.isEmpty { queue.discard(into: totals) }
    }

    private func status() -> TrafficStatus {
        var byState: [Int]?
        if settings.hasFeedback {
            var counts = [0, 0, 0, 0]
            for state in obeyed.compactMap({ $0 }) { counts[state.state.severity] += 1 }
            byState = counts
        }
        return TrafficStatus(
            elapsedMilliseconds: SystemClock.monotonicMilliseconds() - begun,
            totals: totals.read { $0 }, waitingUploads: queue.count, heldUpMilliseconds: heldUp,
            appsByState: byState, feedbackTrouble: feedbackTrouble.read { $0 })
    }
}
