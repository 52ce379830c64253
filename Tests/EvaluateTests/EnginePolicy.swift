// A test's policy document as the engine takes it.
import BrakeEngine
import BrakeModel

extension Policy {
    /// The policy that the reference has read, as the engine's value.
    init(_ read: ReferencePolicy) {
        func state(_ number: Int) -> ThrottleState {
            ThrottleState(rawValue: UInt8(number)) ?? .halt
        }
        func window(_ seconds: Int) -> WindowShape { WindowShape(seconds: seconds) ?? .hour }
        func level(_ number: Int) -> Level {
            let level = read.levels[number]
            return Level(
                dwellSeconds: level.dwellMilliseconds / 1_000,
                recover: level.recover.map {
                    Recovery(
                        window: window($0.windowSeconds), atLeast: $0.atLeast,
                        minSessions: $0.minSessions)
                })
        }
        self.init(
            name: read.name, version: 1, tickMilliseconds: read.tick,
            counting: read.countsEvents ? .events(emptyRate: read.emptyRate ?? 1) : .sessions,
            initial: state(read.initial), initialHoldSeconds: read.initialHold / 1_000,
            entry: read.isStep ? .step : .jump, confidence: read.confidence,
            rules: read.rules.map { rule in
                Rule(
                    name: rule.name, state: state(rule.state), window: window(rule.windowSeconds),
                    condition: rule.crashFreeBelow.map { .crashFreeBelow($0) }
                        ?? .crashesAtLeast(rule.crashesAtLeast ?? 1),
                    minSessions: rule.minSessions, minDevices: rule.minDevices)
            },
            caution: level(1), throttle: level(2), halt: level(3),
            relapseSeconds: read.relapse / 1_000, dwellMaxSeconds: read.dwellMax / 1_000,
            silence: read.silence.map { Silence(share: $0.share, baseline: Int($0.baseline)) },
            launch: read.launch.map {
                Launch(
                    aliveBelow: $0.aliveBelow, baseline: $0.baseline,
                    minSessions: $0.minSessions, state: state($0.state))
            })
    }
}
