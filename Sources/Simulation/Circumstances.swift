// Everything else that a seed picks: sizes, paces, settings, the policy.

import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate

/// What stays the same throughout a run.
struct Circumstances {
    var partitions: Int
    var lanes: Int
    var edges: Int
    var apps: Int
    var steps: Int
    /// The longest time between two steps.
    var paceMilliseconds: Int64
    /// The most uploads of a step.
    var uploads: Int
    var settings: EvaluateSettings
    var pieceBytes: Int
    var heldShare: Double
    /// How old the log's answers are at most.
    var answerAge: Int64

    init(_ random: inout SimulationRandom) {
        partitions = random.number(1...4)
        lanes = random.number(1...3)
        edges = random.number(1...2)
        apps = random.number(1...9)
        steps = random.number(150...500)
        paceMilliseconds = random.pick([100, 400, 400, 2_000, 10_000])
        uploads = random.number(1...4)
        pieceBytes = random.pick([600, 4_000, 64_000])
        heldShare = random.pick([0, 0, 0.1, 0.5])
        answerAge = random.pick([0, 0, 100, 1_000])
        settings = EvaluateSettings(policy: random.pick(SimulationPolicies.all))
        settings.epochMilliseconds = random.pick([20, 200, 200, 3_000])
        settings.heartbeatMilliseconds = random.pick([500, 2_000, 2_000, 10_000])
        settings.idleLagMilliseconds = random.pick([50, 500, 500, 2_000])
        settings.snapshotMilliseconds = random.pick([1_000, 10_000, 60_000, 600_000])
        // With small pieces a restore takes many steps, in which partitions change hands.
        if pieceBytes < 64_000 { settings.restorePieceMilliseconds = 0 }
        settings.limits = EvaluatorLimits(
            appsMax: random.pick([2, 100, 100, 100]), sessionIDsMax: 1 << 10,
            crashIDsMax: 1 << 10)
    }
}

/// Policies that are quick enough for a simulation to see their every move.
enum SimulationPolicies {
    static let all = [annoyed(brisk), annoyed(careful), events, BuiltInPolicies.default]

    /// The same with caps that annoyance tightens, at the least sign of it.
    private static func annoyed(_ policy: Policy) -> Policy {
        var policy = policy
        policy.stress = [
            StressRule(
                name: "any", condition: .signalsPerThousandAtLeast(1, .hour), minImpressions: 0,
                nonFatals: 1),
            StressRule(
                name: "many", condition: .signalsPerThousandAtLeast(300, .day), minImpressions: 3,
                nonFatals: 2),
            StressRule(
                name: "slower", condition: .dismissTrendAtLeast(1.1), minImpressions: 0,
                nonFatals: 1),
        ]
        return policy
    }

    /// Eases without sessions, too, by time alone.
    private static let brisk = Policy(
        name: "brisk", version: 1, tickMilliseconds: 1_000, counting: .sessions, initial: .normal,
        initialHoldSeconds: 0, entry: .jump, confidence: nil,
        rules: [
            Rule(
                name: "halt", state: .halt, window: .minute, condition: .crashFreeBelow(0.7),
                minSessions: 8, minDevices: 2),
            Rule(
                name: "throttle", state: .throttle, window: .minute,
                condition: .crashFreeBelow(0.9), minSessions: 5),
        ],
        caution: Level(dwellSeconds: 3), throttle: Level(dwellSeconds: 10),
        halt: Level(dwellSeconds: 5), relapseSeconds: 60, dwellMaxSeconds: 40, silence: nil,
        launch: nil)

    /// Everything that a policy can have, on short terms.
    private static let careful = Policy(
        name: "careful", version: 3, tickMilliseconds: 500, counting: .sessions, initial: .caution,
        initialHoldSeconds: 20, entry: .step, confidence: 0.8,
        rules: [
            Rule(
                name: "halt", state: .halt, window: .minute, condition: .crashFreeBelow(0.6),
                minSessions: 10, minDevices: 3),
            Rule(
                name: "count", state: .throttle, window: .tenMinutes,
                condition: .crashesAtLeast(30), minSessions: 20),
            Rule(
                name: "caution", state: .caution, window: .tenMinutes,
                condition: .crashFreeBelow(0.95), minSessions: 20),
        ],
        caution: Level(
            dwellSeconds: 0,
            recover: Recovery(window: .tenMinutes, atLeast: 0.95, minSessions: 10)),
        throttle: Level(
            dwellSeconds: 8, recover: Recovery(window: .minute, atLeast: 0.9, minSessions: 5)),
        halt: Level(
            dwellSeconds: 5, recover: Recovery(window: .minute, atLeast: 0.8, minSessions: 5)),
        relapseSeconds: 120, dwellMaxSeconds: 60, silence: Silence(share: 0.3, baseline: 60),
        launch: Launch(aliveBelow: 0.5, baseline: 0.8, minSessions: 30, state: .throttle))

    /// As simple as can be: counts records, and moves at every tick.
    private static let events = Policy(
        name: "events", version: 2, tickMilliseconds: 7_000, counting: .events(emptyRate: 1),
        initial: .normal, initialHoldSeconds: 0, entry: .step, confidence: nil,
        rules: [
            Rule(
                name: "halt", state: .halt, window: .hour, condition: .crashFreeBelow(0.8)),
            Rule(
                name: "caution", state: .caution, window: .minute,
                condition: .crashFreeBelow(0.95)),
        ],
        caution: Level(), throttle: Level(), halt: Level(), relapseSeconds: 0, dwellMaxSeconds: 0,
        silence: nil, launch: nil)
}
