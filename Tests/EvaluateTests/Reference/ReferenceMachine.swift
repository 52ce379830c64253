// One app's state from tick to tick: DESIGN section 4, from "Entry" to "launch".

/// What the windows say at a tick, whatever the app's state.
struct ReferenceVerdict {
    /// Rules that are unhealthy, in the policy's order.
    var unhealthy: [ReferencePolicy.Rule] = []
    var launchFails = false
    /// By state: whether what the level asks for to recover holds.
    var recovers: [Bool] = []
    var sessions600 = 0
    var sessions3600 = 0

    init(_ windows: [ReferenceCounts], _ policy: ReferencePolicy) {
        let rates = windows.map { ReferenceRate($0, policy) }
        func rate(_ seconds: Int) -> ReferenceRate {
            rates[ReferenceWindow.index(seconds: seconds)]
        }

        for rule in policy.rules {
            let window = rate(rule.windowSeconds)
            let devices = windows[ReferenceWindow.index(seconds: rule.windowSeconds)]
                .crashedDevices
            var isUnhealthy = window.sessions >= rule.minSessions && devices >= rule.minDevices
            if let limit = rule.crashFreeBelow {
                isUnhealthy = isUnhealthy && window.rate.map { $0 < limit } ?? false
                if policy.z != nil {
                    // The crash rate's lower bound is one less the crash-free rate's upper bound.
                    let bears = window.interval.map { 1 - $0.high > 1 - limit } ?? false
                    isUnhealthy = isUnhealthy && bears
                }
            }
            if let count = rule.crashesAtLeast {
                isUnhealthy = isUnhealthy && window.crashes >= count
            }
            if isUnhealthy { unhealthy.append(rule) }
        }

        recovers = policy.levels.map { level in
            guard let recover = level.recover else { return true }
            let window = rate(recover.windowSeconds)
            return window.sessions >= recover.minSessions
                && (window.rate.map { $0 >= recover.atLeast } ?? false)
        }

        sessions600 = rate(600).sessions
        sessions3600 = rate(3600).sessions
        if let launch = policy.launch {
            let now = (alive: windows[1].alive, sessions: sessions600)
            let before = (
                alive: windows[2].alive - now.alive, sessions: sessions3600 - now.sessions
            )
            launchFails =
                now.sessions > 0 && before.sessions > 0
                && now.sessions >= launch.minSessions && before.sessions >= launch.minSessions
                && Double(now.alive) / Double(now.sessions) < launch.aliveBelow
                && Double(before.alive) / Double(before.sessions) >= launch.baseline
        }
    }
}

/// What is remembered of an app from tick to tick.
struct ReferenceMachine: Equatable {
    enum Cause: String {
        case rule, recovery, initial
        case launchFailure = "launch_failure"
    }

    struct Change {
        let state: Int
        let cause: Cause
        let rule: String?
        let revision: Int
    }

    var state = 0
    /// 0: the first record is still to be written.
    var revision = 0
    /// The tick of the last change, the first record included.
    var since: Int64 = 0
    /// Whether anything but the first record in the initial state was ever written.
    var hasChanged = false
    /// The tick of the last easing that was not the app's first change.
    var lastEasing: Int64?
    /// What relapses have made of the dwells.
    var factor: Int64 = 1
    /// The first tick of the present run of calm ticks.
    var calmSince: Int64?
    /// The first tick of the present run without unhealthy rule and silence.
    var quietSince: Int64?
    /// The sessions of 3600 s when the silence began, while it lasts.
    var silentFrom: Int?

    /// In Normal with no doubled dwells no timer runs: only other counts can change anything.
    var isResting: Bool { state == 0 && factor == 1 }

    /// Makes the app known in its initial state, before any tick has decided on it.
    mutating func begin(_ tick: Int64, _ policy: ReferencePolicy) {
        state = policy.initial
        since = tick
        revision = 1
    }

    /// Goes on under another policy.
    mutating func changePolicy() {
        calmSince = nil
        quietSince = nil
    }

    /// Decides at a tick.
    mutating func decide(
        _ tick: Int64, _ verdict: ReferenceVerdict, _ policy: ReferencePolicy
    ) -> Change? {
        updateSilence(verdict, policy)
        if !verdict.unhealthy.isEmpty || silentFrom != nil {
            quietSince = nil
        } else if quietSince == nil {
            quietSince = tick
        }

        let isFirstTick = revision == 0
        if isFirstTick { state = policy.initial }
        let entry = entry(verdict, policy)
        if let entry {
            if let lastEasing, tick - lastEasing <= policy.relapse {
                factor = min(factor * 2, 1 << 20)
            }
            hasChanged = true
            calmSince = nil
            return write(tick, entry.state, entry.cause, entry.rule)
        }

        let isCalm = isCalm(verdict, policy)
        if !isCalm { calmSince = nil } else if calmSince == nil { calmSince = tick }
        if isFirstTick {
            return write(tick, policy.initial, .initial, nil)
        }

        if !hasChanged, state > 0, let quietSince, tick - quietSince >= policy.initialHold {
            hasChanged = true
            calmSince = nil
            return write(tick, 0, .recovery, nil)
        }
        if state > 0, let calm = calmSince, tick - calm >= dwell(policy) {
            if hasChanged { lastEasing = tick }
            hasChanged = true
            calmSince = nil
            return write(tick, state - 1, .recovery, nil)
        }
        if state == 0, tick - since >= policy.relapse { factor = 1 }
        return nil
    }

    private mutating func write(
        _ tick: Int64, _ newState: Int, _ cause: Cause, _ rule: String?
    ) -> Change {
        state = newState
        since = tick
        revision += 1
        return Change(state: state, cause: cause, rule: rule, revision: revision)
    }

    private mutating func updateSilence(_ verdict: ReferenceVerdict, _ policy: ReferencePolicy) {
        guard let silence = policy.silence else {
            silentFrom = nil
            return
        }
        if let frozen = silentFrom {
            if Double(verdict.sessions600) * 6 >= silence.share * Double(frozen) {
                silentFrom = nil
            }
        } else if Double(verdict.sessions3600) >= silence.baseline,
            Double(verdict.sessions600) * 6 < silence.share * Double(verdict.sessions3600)
        {
            silentFrom = verdict.sessions3600
        }
    }

    /// The stricter state that is called for, with its reason.
    private func entry(
        _ verdict: ReferenceVerdict, _ policy: ReferencePolicy
    ) -> (state: Int, cause: Cause, rule: String?)? {
        var target = 0
        var cause = Cause.rule
        var name: String?
        // The first of the strictest names the change.
        for rule in verdict.unhealthy where rule.state > target {
            target = rule.state
            name = rule.name
        }
        if verdict.launchFails, let launch = policy.launch, launch.state > target {
            target = launch.state
            cause = .launchFailure
            name = nil
        }
        guard target > state else { return nil }
        return (policy.isStep ? state + 1 : target, cause, name)
    }

    private func isCalm(_ verdict: ReferenceVerdict, _ policy: ReferencePolicy) -> Bool {
        let launchState = policy.launch?.state ?? 0
        return state > 0
            && !verdict.unhealthy.contains { $0.state >= state }
            && !(verdict.launchFails && launchState >= state)
            && silentFrom == nil
            && verdict.recovers[state]
    }

    private func dwell(_ policy: ReferencePolicy) -> Int64 {
        let dwell = policy.levels[state].dwellMilliseconds
        return min(dwell * factor, max(policy.dwellMax, dwell))
    }
}
