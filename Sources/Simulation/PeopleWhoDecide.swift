// What people decide in a simulation: overrides that begin, end and replace one another, and
// policies that apps are assigned and taken from.

import BrakeEngine
import BrakeModel
import BrakeWire

/// Makes control records. All that it needs comes in: time, and numbers from the seed.
struct PeopleWhoDecide {
    /// How often a step brings a decision.
    private static let share = 0.02

    private var random: SimulationRandom
    private let apps: [AppID]

    init(apps: [AppID], random: SimulationRandom) {
        self.random = random
        self.apps = apps
    }

    /// A decision, now and then.
    mutating func decision(at now: Int64) -> [UInt8]? {
        guard random.chance(Self.share) else { return nil }
        let content = random.chance(0.7) ? hold(at: now) : assignment()
        return ControlRecord(content, by: "anna", at: now, reason: "as it came").encode()
    }

    private mutating func hold(at now: Int64) -> ControlRecord.Content {
        let app = random.chance(0.3) ? nil : random.pick(apps)
        if random.chance(0.2) { return .override(app, nil) }
        return .override(
            app,
            OverrideTerms(
                mode: random.pick(Override.Mode.allCases),
                state: random.pick(ThrottleState.allCases),
                expiresAt: random.chance(0.7) ? now + random.number(-5_000...120_000) : nil))
    }

    private mutating func assignment() -> ControlRecord.Content {
        let patterns = ["*", "app-*", "app-1*", "*2"].compactMap { AppPattern($0) }
        let apps = random.pick(patterns)
        if random.chance(0.3) { return .assignment(apps, policy: nil) }
        return .assignment(apps, policy: random.pick(BuiltInPolicies.names))
    }
}
