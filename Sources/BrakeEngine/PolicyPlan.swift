// A policy as the evaluator uses it, with what follows from it worked out once.

import BrakeModel

/// A policy and what the evaluator asks of it for each event and look. A class, so that handing it
/// to a look counts one reference and not those of all the policy's parts.
final class PolicyPlan: Sendable {
    let policy: Policy
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
        self.policy = policy
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
