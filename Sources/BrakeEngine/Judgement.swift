// From counts to a verdict: what a policy's rules say of the windows at a tick.

import BrakeModel

/// The two numbers of a window that its rate is made of, and its raw crashes.
struct RateCounts: Equatable {
    var sessions = 0
    /// Crashed sessions, or crashes under `events`.
    var bad = 0
    /// What `crashes_at_least` counts.
    var crashes = 0
    var alive = 0
}

/// Judges windows by a policy. Devices are counted only when a rule comes down to them.
struct Judgement {
    let plan: PolicyPlan
    let windows: InlineArray<3, RateCounts>

    /// The crash-free rate of a window, nil when it is undefined.
    func rate(_ window: WindowShape) -> Double? {
        Self.rate(windows[window.rawValue], counting: plan.policy.counting)
    }

    /// The crash-free rate of a window's counts, nil when it is undefined.
    static func rate(_ counts: RateCounts, counting: Policy.Counting) -> Double? {
        switch counting {
        case .sessions:
            guard counts.sessions > 0 else { return nil }
            // One division of whole numbers is rounded once, so a rate that equals a limit in
            // decimals equals it here too; 1 - bad/sessions would not.
            return max(0, Double(counts.sessions - counts.bad) / Double(counts.sessions))
        case .events(let emptyRate):
            guard counts.sessions > 0 else { return emptyRate }
            return Double(counts.sessions - counts.bad) / Double(counts.sessions)
        }
    }

    /// The interval of a window's crash rate, nil without a confidence or without sessions.
    func crashInterval(_ window: WindowShape) -> WilsonInterval? {
        guard let quantile = plan.policy.quantile else { return nil }
        let counts = windows[window.rawValue]
        return WilsonInterval(count: counts.bad, of: counts.sessions, quantile: quantile)
    }

    /// What all rules say, for an app in this state.
    func verdict(in state: ThrottleState, devices: (WindowShape) -> Int) -> Verdict {
        var verdict = Verdict()
        for (place, rule) in plan.policy.rules.enumerated()
        where rule.state > verdict.target && isUnhealthy(rule, devices: devices) {
            verdict.target = rule.state
            verdict.rule = place
        }
        verdict.launchFails = launchFails
        verdict.recovers = recovers(plan.policy.level(of: state))
        verdict.sessionsTenMinutes = windows[1].sessions
        verdict.sessionsHour = windows[2].sessions
        return verdict
    }

    /// Whether the rule's condition holds and the sample bears it out.
    func isUnhealthy(_ rule: Rule, devices: (WindowShape) -> Int) -> Bool {
        let counts = windows[rule.window.rawValue]
        guard counts.sessions >= rule.minSessions else { return false }
        switch rule.condition {
        case .crashesAtLeast(let limit):
            guard counts.crashes >= limit else { return false }
        case .crashFreeBelow(let limit):
            guard let rate = rate(rule.window), rate < limit else { return false }
            if plan.policy.quantile != nil {
                guard let interval = crashInterval(rule.window), interval.low > 1 - limit else {
                    return false
                }
            }
        }
        return rule.minDevices == 0 || devices(rule.window) >= rule.minDevices
    }

    private func recovers(_ level: Level) -> Bool {
        guard let recover = level.recover else { return true }
        guard windows[recover.window.rawValue].sessions >= recover.minSessions,
            let rate = rate(recover.window)
        else { return false }
        return rate >= recover.atLeast
    }

    /// Few sessions of the last ten minutes are alive, though of the fifty before most were.
    private var launchFails: Bool {
        guard let launch = plan.policy.launch else { return false }
        let recent = windows[1]
        let before = RateCounts(
            sessions: windows[2].sessions - recent.sessions, alive: windows[2].alive - recent.alive)
        guard recent.sessions >= launch.minSessions, before.sessions >= launch.minSessions,
            recent.sessions > 0, before.sessions > 0
        else { return false }
        return Double(recent.alive) / Double(recent.sessions) < launch.aliveBelow
            && Double(before.alive) / Double(before.sessions) >= launch.baseline
    }
}
