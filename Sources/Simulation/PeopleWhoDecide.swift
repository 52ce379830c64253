// What people decide in a simulation: overrides that begin, end and replace one another, policies
// that apps are assigned and taken from, and policies that are written anew.

import BrakeEngine
import BrakeModel
import BrakeWire

/// Makes control records. All that it needs comes in: time, and numbers from the seed.
struct PeopleWhoDecide {
    /// How often a step brings a decision.
    private static let share = 0.02
    /// Some of the names that apps go by from the start, and one that is nobody's until written.
    private static let policyNames = ["brisk", "careful", "events", "default", "own"]

    private var random: SimulationRandom
    private let apps: [AppID]
    private let reader = DocumentReader()

    init(apps: [AppID], random: SimulationRandom) {
        self.random = random
        self.apps = apps
    }

    /// A decision, now and then.
    mutating func decision(at now: Int64) -> [UInt8]? {
        guard random.chance(Self.share) else { return nil }
        let content =
            switch random.number(0...9) {
            case 0...5: hold(at: now)
            case 6, 7: assignment()
            default: policy()
            }
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
        return .assignment(apps, policy: random.pick(BuiltInPolicies.names + ["own"]))
    }

    /// Another policy under a name, or whatever the name stood for before.
    private mutating func policy() -> ControlRecord.Content {
        let name = random.pick(Self.policyNames)
        if random.chance(0.25) { return .policy(name: name, nil) }
        let text = """
            {"name": "\(name)", "version": \(random.number(1...1_000)),
              "tick_ms": \(random.pick([500, 1_000, 3_000])), "initial_hold_s": 5,
              "entry": "\(random.pick(["jump", "step"]))",
              "initial": "\(random.pick(["Normal", "Caution"]))",
              "levels": {"Throttle": {"dwell_s": \(random.number(0...20))},
                "Caution": {"dwell_s": \(random.number(0...20))}},
              "rules": [{"name": "minute", "window_s": 60,
                "state": "\(random.pick(["Caution", "Throttle", "Halt"]))",
                "crash_free_below": 0.\(random.number(6...9)), "min_sessions": 5}]}
            """
        guard let document = reader.read(Array(text.utf8)), let stored = try? StoredPolicy(document)
        else { preconditionFailure("a policy of our own") }
        return .policy(name: name, stored)
    }
}
