// Policies as people write them: decoded, checked, and refused with everything that is wrong.

package import BrakeEngine
internal import BrakeModel

/// A policy with the document that it comes from.
package struct PolicyDocument: Sendable, Equatable {
    /// The most bytes of a document.
    package static let bytesMax = 64 * 1_024
    /// The most rules of a policy.
    package static let rulesMax = 32
    /// The most stress rules of a policy.
    package static let stressRulesMax = 8

    package let policy: Policy
    /// The document as it was written.
    package let source: [UInt8]

    /// Reads a document. What is optional is filled in as `schemas/policy.schema.json` says.
    package init(_ source: [UInt8], with reader: DocumentReader) throws(DocumentProblems) {
        guard source.count <= PolicyDocument.bytesMax else {
            throw DocumentProblems("expected at most \(PolicyDocument.bytesMax) bytes")
        }
        guard let value = reader.read(source) else { throw DocumentProblems("expected JSON") }
        self.source = source
        policy = try PolicyDocument.policy(value)
    }

    /// The policy of a document that is part of another one.
    package static func policy(_ value: JSONValue) throws(DocumentProblems) -> Policy {
        var fields = DocumentFields()
        let policy = fields.policy(value)
        guard fields.problems.isEmpty else { throw DocumentProblems(fields.problems) }
        return policy
    }
}

/// A policy's or a rule's name.
enum NameRule {
    static func allows(_ text: String) -> Bool { AppID.isValid(text.utf8) }
}

private let secondsMax: Int64 = 30 * 86_400
private let countMax: Int64 = 1_000_000_000
/// Devices are not counted further.
private let devicesMax: Int64 = 4_096

private let policyKeys = [
    "name", "version", "tick_ms", "counting", "empty_rate", "initial", "initial_hold_s", "entry",
    "confidence", "levels", "relapse_s", "dwell_max_s", "rules", "silence", "launch",
    "stress",
]
private let ruleKeys = [
    "name", "state", "window_s", "crash_free_below", "crashes_at_least", "min_sessions",
    "min_devices",
]
private let stressKeys = [
    "name", "window_s", "signals_per_1000_at_least", "dismiss_trend_at_least", "min_impressions",
    "as_nf",
]
private let states = ThrottleState.allCases.map { ($0.name, $0) }
private let strictStates = states.filter { $0.1 > .normal }

extension DocumentFields {
    fileprivate mutating func policy(_ value: JSONValue) -> Policy {
        let document = object(value, at: "", keys: policyKeys)
        let levels = object(
            document["levels"] ?? .object([]), at: "levels", keys: strictStates.map(\.0))
        var policy = Policy(
            name: name(document, "name"),
            version: Int(integer(document, "version", in: 1...countMax)),
            tickMilliseconds: integer(document, "tick_ms", in: 100...3_600_000, absent: 1_000),
            counting: counting(document),
            initial: word(document, "initial", of: states, absent: .caution),
            initialHoldSeconds: integer(
                document, "initial_hold_s", in: 0...secondsMax, absent: 600),
            entry: word(document, "entry", of: [("jump", .jump), ("step", .step)], absent: .jump),
            confidence: confidence(document), rules: rules(document),
            caution: level(levels, .caution), throttle: level(levels, .throttle),
            halt: level(levels, .halt),
            relapseSeconds: integer(document, "relapse_s", in: 0...secondsMax, absent: 0),
            dwellMaxSeconds: integer(document, "dwell_max_s", in: 0...secondsMax, absent: 0),
            silence: silence(document), launch: launch(document))
        policy.stress = stress(document)
        return policy
    }

    private mutating func counting(_ document: Object) -> Policy.Counting {
        let isEvents = word(
            document, "counting", of: [("sessions", false), ("events", true)], absent: false)
        guard isEvents else {
            if document["empty_rate"] != nil {
                report("empty_rate", "expected only with counting events")
            }
            return .sessions
        }
        guard document["empty_rate"] != nil else { return .events(emptyRate: 1) }
        return .events(emptyRate: share(document, "empty_rate"))
    }

    private mutating func confidence(_ document: Object) -> Double? {
        guard document["confidence"] != nil else { return nil }
        return number(document, "confidence", "a number, at least 0 and below 1") {
            (0..<1).contains($0)
        }
    }

    private mutating func rules(_ document: Object) -> [Rule] {
        let expected = "an array of 1 to \(PolicyDocument.rulesMax) rules"
        guard let value = document["rules"] else {
            missing(document, "rules", expected)
            return []
        }
        guard let items = value.array, (1...PolicyDocument.rulesMax).contains(items.count) else {
            report("rules", "expected \(expected)")
            return []
        }
        var names: Set<String> = []
        return items.enumerated().map { index, item in
            let rule = rule(object(item, at: "rules[\(index)]", keys: ruleKeys))
            if !names.insert(rule.name).inserted && !rule.name.isEmpty {
                report("rules[\(index)].name", "expected a name that no other rule has")
            }
            return rule
        }
    }

    private mutating func rule(_ item: Object) -> Rule {
        Rule(
            name: name(item, "name"), state: word(item, "state", of: strictStates),
            window: window(item), condition: condition(item),
            minSessions: Int(integer(item, "min_sessions", in: 0...countMax, absent: 0)),
            minDevices: Int(integer(item, "min_devices", in: 0...devicesMax, absent: 0)))
    }

    private mutating func condition(_ item: Object) -> Rule.Condition {
        switch (item["crash_free_below"] != nil, item["crashes_at_least"] != nil) {
        case (true, false): return .crashFreeBelow(share(item, "crash_free_below"))
        case (false, true):
            return .crashesAtLeast(Int(integer(item, "crashes_at_least", in: 1...countMax)))
        case (true, true):
            report(item.path(of: "crashes_at_least"), "expected only one of both conditions")
        case (false, false):
            missing(item, "crash_free_below", "this or crashes_at_least")
        }
        return .crashesAtLeast(1)
    }

    private mutating func window(_ item: Object) -> WindowShape {
        let expected = WindowShape.allCases.map { "\($0.seconds)" }.joined(separator: ", ")
        guard let value = item["window_s"] else {
            missing(item, "window_s", "one of \(expected)")
            return .minute
        }
        if let seconds = value.count, let shape = WindowShape(seconds: seconds) { return shape }
        report(
            item.path(of: "window_s"), "expected one of \(expected), found \(value.reported)")
        return .minute
    }

    private mutating func level(_ levels: Object, _ state: ThrottleState) -> Level {
        guard let value = levels[state.name] else { return Level() }
        let item = object(value, at: "levels.\(state.name)", keys: ["dwell_s", "recover"])
        return Level(
            dwellSeconds: integer(item, "dwell_s", in: 0...secondsMax, absent: 0),
            recover: recovery(item))
    }

    private mutating func recovery(_ level: Object) -> Recovery? {
        guard let value = level["recover"] else { return nil }
        let item = object(
            value, at: level.path(of: "recover"), keys: ["window_s", "at_least", "min_sessions"])
        return Recovery(
            window: window(item), atLeast: share(item, "at_least"),
            minSessions: Int(integer(item, "min_sessions", in: 0...countMax, absent: 0)))
    }

    private mutating func silence(_ document: Object) -> Silence? {
        guard let value = document["silence"] else { return nil }
        let item = object(value, at: "silence", keys: ["share", "baseline"])
        return Silence(
            share: share(item, "share"),
            baseline: Int(integer(item, "baseline", in: 1...countMax)))
    }

    private mutating func launch(_ document: Object) -> Launch? {
        guard let value = document["launch"] else { return nil }
        let keys = ["alive_below", "baseline", "min_sessions", "state"]
        let item = object(value, at: "launch", keys: keys)
        return Launch(
            aliveBelow: share(item, "alive_below"), baseline: share(item, "baseline"),
            minSessions: Int(integer(item, "min_sessions", in: 1...countMax)),
            state: word(item, "state", of: strictStates))
    }

    private mutating func stress(_ document: Object) -> [StressRule] {
        guard let value = document["stress"] else { return [] }
        guard let items = value.array, items.count <= PolicyDocument.stressRulesMax else {
            report("stress", "expected an array of at most \(PolicyDocument.stressRulesMax) rules")
            return []
        }
        var names: Set<String> = []
        return items.enumerated().map { index, item in
            let rule = stressRule(object(item, at: "stress[\(index)]", keys: stressKeys))
            if !names.insert(rule.name).inserted && !rule.name.isEmpty {
                report("stress[\(index)].name", "expected a name that no other of them has")
            }
            return rule
        }
    }

    private mutating func stressRule(_ item: Object) -> StressRule {
        StressRule(
            name: name(item, "name"), condition: stressCondition(item),
            minImpressions: Int(integer(item, "min_impressions", in: 0...countMax, absent: 0)),
            nonFatals: Int(integer(item, "as_nf", in: 1...2)))
    }

    private mutating func stressCondition(_ item: Object) -> StressRule.Condition {
        let (signals, trend) = ("signals_per_1000_at_least", "dismiss_trend_at_least")
        switch (item[signals] != nil, item[trend] != nil) {
        case (true, false):
            let limit = number(item, signals, "a number above 0, at most 1000") {
                $0 > 0 && $0 <= 1_000
            }
            return .signalsPerThousandAtLeast(limit, stressWindow(item))
        case (false, true):
            if item["window_s"] != nil {
                report(item.path(of: "window_s"), "expected only with \(signals)")
            }
            let limit = number(item, trend, "a number above 1, at most 1000") {
                $0 > 1 && $0 <= 1_000
            }
            return .dismissTrendAtLeast(limit)
        case (true, true):
            report(item.path(of: trend), "expected only one of both conditions")
        case (false, false):
            missing(item, signals, "this or \(trend)")
        }
        return .dismissTrendAtLeast(1_000)
    }

    private mutating func stressWindow(_ item: Object) -> StressRule.Window {
        guard let value = item["window_s"] else {
            missing(item, "window_s", "3600 or 86400")
            return .hour
        }
        switch value.integer {
        case 3_600: return .hour
        case 86_400: return .day
        default:
            report(
                item.path(of: "window_s"), "expected 3600 or 86400, found \(value.reported)")
            return .hour
        }
    }
}
