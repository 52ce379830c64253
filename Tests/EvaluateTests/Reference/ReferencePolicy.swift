// A policy document as the reference reads it: DESIGN section 4, "Policy".
import Foundation

struct ReferencePolicy: Equatable {
    struct Rule: Equatable {
        let name: String
        let state: Int
        let windowSeconds: Int
        let crashFreeBelow: Double?
        let crashesAtLeast: Int?
        let minSessions: Int
        let minDevices: Int
    }

    struct Recover: Equatable {
        let windowSeconds: Int
        let atLeast: Double
        let minSessions: Int
    }

    struct Level: Equatable {
        var dwellMilliseconds: Int64 = 0
        var recover: Recover?
    }

    struct Silence: Equatable {
        let share: Double
        let baseline: Double
    }

    struct Launch: Equatable {
        let aliveBelow: Double
        let baseline: Double
        let minSessions: Int
        let state: Int
    }

    static let stateNames = ["Normal", "Caution", "Throttle", "Halt"]

    let name: String
    let tick: Int64
    let countsEvents: Bool
    let emptyRate: Double?
    let initial: Int
    let initialHold: Int64
    let isStep: Bool
    /// The z of the confidence, nil when the policy asks for none.
    let z: Double?
    let rules: [Rule]
    /// By state, 0 to 3.
    let levels: [Level]
    let relapse: Int64
    let dwellMax: Int64
    let silence: Silence?
    let launch: Launch?

    /// The policy in a document, nil if it is not one.
    init?(_ text: String) {
        guard let document = JSONText(text) else { return nil }
        self.init(document)
    }

    /// The policy that a value is, nil if it is none.
    init?(_ document: JSONText) {
        guard let name = document["name"]?.string,
            let tick = document["tick_ms"]?.integer,
            let initial = Self.state(document["initial"]),
            let rules = document["rules"]?.array
        else { return nil }
        self.name = name
        self.tick = tick
        self.initial = initial
        countsEvents = document["counting"]?.string == "events"
        emptyRate = document["empty_rate"]?.double
        initialHold = Self.milliseconds(document["initial_hold_s"])
        isStep = document["entry"]?.string == "step"
        z = document["confidence"]?.double.map(Self.z)
        relapse = Self.milliseconds(document["relapse_s"])
        dwellMax = Self.milliseconds(document["dwell_max_s"])
        self.rules = rules.map { rule in
            Rule(
                name: rule["name"]?.string ?? "", state: Self.state(rule["state"]) ?? 0,
                windowSeconds: Self.count(rule["window_s"]),
                crashFreeBelow: rule["crash_free_below"]?.double,
                crashesAtLeast: (rule["crashes_at_least"]?.integer).map(Int.init),
                minSessions: Self.count(rule["min_sessions"]),
                minDevices: Self.count(rule["min_devices"]))
        }
        levels = Self.stateNames.map { state in
            guard let level = document["levels"]?[state] else { return Level() }
            let recover = level["recover"].map {
                Recover(
                    windowSeconds: Self.count($0["window_s"]),
                    atLeast: $0["at_least"]?.double ?? 0,
                    minSessions: Self.count($0["min_sessions"]))
            }
            return Level(
                dwellMilliseconds: Self.milliseconds(level["dwell_s"]), recover: recover)
        }
        silence = document["silence"].map {
            Silence(share: $0["share"]?.double ?? 0, baseline: $0["baseline"]?.double ?? 0)
        }
        launch = document["launch"].map {
            Launch(
                aliveBelow: $0["alive_below"]?.double ?? 0,
                baseline: $0["baseline"]?.double ?? 0,
                minSessions: Self.count($0["min_sessions"]),
                state: Self.state($0["state"]) ?? 0)
        }
    }

    private static func state(_ field: JSONText?) -> Int? {
        field?.string.flatMap(stateNames.firstIndex(of:))
    }

    private static func count(_ field: JSONText?) -> Int {
        Int(field?.integer ?? 0)
    }

    private static func milliseconds(_ field: JSONText?) -> Int64 {
        Int64((field?.double ?? 0) * 1_000)
    }

    /// The z with this much of the standard normal distribution between -z and z, by bisection.
    static func z(_ confidence: Double) -> Double {
        var low = 0.0
        var high = 10.0
        for _ in 0..<200 {
            let middle = (low + high) / 2
            if erf(middle / 2.0.squareRoot()) < confidence { low = middle } else { high = middle }
        }
        return (low + high) / 2
    }
}
