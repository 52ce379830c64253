// What follows from a policy, worked out once: which apps need a look when.

import BrakeModel

/// What the evaluator asks of a policy for each event and look.
struct PolicyTraits {
    /// An app in Normal with nothing bad in its windows needs a look only from so many sessions an
    /// hour on: below, neither silence nor launch failure can begin.
    let watchedSessions: Int
    /// A window without sessions may be unhealthy, so sessions that leave it matter too.
    let emptyIsUnhealthy: Bool
    /// Sessions without a sign of life matter.
    let watchesAlive: Bool
    /// The sessions by which a window's sample is sufficient.
    let sufficientSessions: InlineArray<3, Int>

    init(_ policy: Policy) {
        watchedSessions = min(policy.silence?.baseline ?? .max, policy.launch?.minSessions ?? .max)
        watchesAlive = policy.launch != nil
        var emptyIsUnhealthy = false
        var sufficient = InlineArray<3, Int>(repeating: 1)
        for rule in policy.rules {
            let window = rule.window.rawValue
            sufficient[window] = max(sufficient[window], rule.minSessions)
            if case .events(let emptyRate) = policy.counting,
                case .crashFreeBelow(let limit) = rule.condition, emptyRate < limit
            {
                emptyIsUnhealthy = true
            }
        }
        for level in [policy.caution, policy.throttle, policy.halt] {
            guard let recover = level.recover else { continue }
            let window = recover.window.rawValue
            sufficient[window] = max(sufficient[window], recover.minSessions)
        }
        self.emptyIsUnhealthy = emptyIsUnhealthy
        sufficientSessions = sufficient
    }
}
