// One app from tick to tick: what its windows hold, what is computed, what people have said, and
// what is published.

struct ReferenceCourse {
    private let app: String
    private let base: ReferencePolicy
    private let controls: [ReferenceControl]
    private let facts: [ReferenceFact]
    /// A window's counts can differ from those of the time before only if meanwhile a fact came in
    /// (at its A, so at ticks after it) or left the window. All such moments, for each window.
    private let moments: [[Int64]]
    /// Times at which people's decisions may change something.
    private let stops: [Int64]
    private var passed = [0, 0, 0]
    private var windows = ReferenceWindow.all.map { _ in ReferenceCounts() }
    /// The decisions so far.
    private var said: ArraySlice<ReferenceControl>
    private var policy: ReferencePolicy
    private var verdict: ReferenceVerdict
    private var machine = ReferenceMachine()
    private var publisher = ReferencePublisher()
    /// The last time was a tick that has left all as it was.
    private var isAtRest = false

    init(
        _ app: String, _ records: [ReferenceRecord], _ controls: [ReferenceControl],
        _ base: ReferencePolicy
    ) {
        self.app = app
        self.base = base
        self.controls = controls
        let facts = ReferenceFact.facts(of: records)
        self.facts = facts
        moments = ReferenceWindow.all.map { window in
            Set(facts.flatMap { [$0.append + 1, window.end(of: $0.time)] }).sorted()
        }
        stops = ReferenceControl.stops(controls)
        said = controls.prefix(0)
        policy = base
        verdict = ReferenceVerdict(windows, base)
    }

    /// Right behind the moment at which the app was first heard of, or a person decided about it.
    func firstTime(_ records: [ReferenceRecord]) -> Int64? {
        let named = controls.first { line in
            line.value["app"]?.string == app && line.value["mode"] != nil
                && (line.value["expires_at"]?.integer.map { ($0 + 999) / 1_000 * 1_000 } ?? .max)
                    > line.append
        }
        return [records.first?.append, named?.append].compactMap { $0 }.min().map { $0 + 1 }
    }

    /// Lets a time pass, which may be a tick of the policy, a full second, both or neither.
    mutating func pass(_ time: Int64) -> ReferenceChange? {
        hear(before: time)
        count(at: time)
        let before = machine
        var decided: ReferenceMachine.Change?
        let isTick = time % policy.tick == 0
        let isSecond = time % 1_000 == 0
        if isTick {
            decided = machine.decide(time, verdict, policy)
        } else if isSecond, machine.revision == 0,
            ReferenceControl.isNamed(app, said, at: time)
        {
            machine.begin(time, policy)
        }
        isAtRest = isTick && machine == before && machine.isResting
        let held = ReferenceControl.held(app, said, at: time)
        guard machine.revision > 0, isTick || isSecond,
            let due = publisher.publish(machine.state, held)
        else { return nil }
        return change(time, due, decided)
    }

    /// The next time at which anything may change; nil when none is left.
    func next(after time: Int64) -> Int64? {
        let nextTick = (floorDivide(time, policy.tick) + 1) * policy.tick
        let nextStop = stops.first { $0 > time }
        guard isAtRest else { return min(nextTick, nextStop ?? .max) }
        // So will the next tick leave it, until counts differ.
        let moment = zip(moments, passed).compactMap { $1 < $0.count ? $0[$1] : nil }.min()
        let changed = moment.map {
            max(nextTick, floorDivide($0 + policy.tick - 1, policy.tick) * policy.tick)
        }
        return [changed, nextStop].compactMap { $0 }.min()
    }

    /// What people decided at an append time is in force at all ticks after it.
    private mutating func hear(before time: Int64) {
        while said.count < controls.count, controls[said.count].append < time {
            said = controls.prefix(said.count + 1)
            let next = ReferenceControl.policy(of: app, said, base: base)
            guard next != policy else { continue }
            policy = next
            machine.changePolicy()
            verdict = ReferenceVerdict(windows, policy)
        }
    }

    private mutating func count(at time: Int64) {
        var isRecounted = false
        for (index, window) in ReferenceWindow.all.enumerated() {
            let before = passed[index]
            while passed[index] < moments[index].count, moments[index][passed[index]] <= time {
                passed[index] += 1
            }
            guard passed[index] > before else { continue }
            windows[index] = ReferenceCounts(of: facts, window: window, clock: time)
            isRecounted = true
        }
        if isRecounted { verdict = ReferenceVerdict(windows, policy) }
    }

    private func change(
        _ tick: Int64, _ due: (state: Int, isShaped: Bool), _ decided: ReferenceMachine.Change?
    ) -> ReferenceChange {
        ReferenceChange(
            tick: tick, app: app, state: ReferencePolicy.stateNames[due.state],
            cause: due.isShaped ? "override" : decided?.cause.rawValue ?? "override",
            rule: due.isShaped ? nil : decided?.rule, revision: publisher.revision,
            windows: zip(ReferenceWindow.all, windows).map { window, counts in
                let rate = ReferenceRate(counts, policy)
                return ReferenceChange.Window(
                    seconds: window.seconds,
                    counts: [
                        "sessions": rate.sessions, "crashes": rate.crashes,
                        "crashed_sessions": counts.crashedSessions,
                        "crashing_sessions": counts.crashingSessions,
                        "crashed_devices": counts.crashedDevices,
                        "soft_errors": counts.softErrors, "alive": counts.alive,
                        "impressions": counts.impressions, "ad_failures": counts.adFailures,
                        "signals": counts.signals,
                    ],
                    rate: rate.rate, low: rate.interval?.low, high: rate.interval?.high)
            })
    }
}
