// Policies as documents: the two built in, what is filled in, and everything that is wrong at once.

import BrakeEngine
import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct PolicyDocumentTests {
    @Test(arguments: [
        ("article", BuiltInPolicies.articleSource), ("default", BuiltInPolicies.defaultSource),
    ])
    func `a built-in policy is the file of its name, byte for byte`(
        name: String, source: String
    ) throws {
        #expect(try Fixture.bytes("policies/\(name).json") == Array(source.utf8))
        #expect(BuiltInPolicies.policy(named: name)?.name == name)
        #expect(BuiltInPolicies.policy(named: name + "x") == nil)
    }

    @Test func `the default policy is read as it is meant`() throws {
        let policy = BuiltInPolicies.default
        #expect(policy.tickMilliseconds == 1_000)
        #expect(policy.counting == .sessions)
        #expect(policy.initial == .caution)
        #expect(policy.entry == .jump)
        #expect(policy.confidence == 0.95)
        #expect(policy.rules.map(\.name) == ["burst", "hour", "ten-minutes", "hour-mild"])
        #expect(
            policy.rules[0]
                == Rule(
                    name: "burst", state: .halt, window: .minute, condition: .crashFreeBelow(0.95),
                    minSessions: 50, minDevices: 10))
        #expect(
            policy.throttle
                == Level(
                    dwellSeconds: 600,
                    recover: Recovery(window: .tenMinutes, atLeast: 0.993, minSessions: 50)))
        #expect(policy.dwellMaxSeconds == 7_200)
        #expect(policy.silence == Silence(share: 0.2, baseline: 300))
        #expect(policy.launch?.state == .throttle)
        #expect(BuiltInPolicies.article.counting == .events(emptyRate: 1))
        #expect(BuiltInPolicies.article.halt == Level())
        #expect(BuiltInPolicies.article.rules[0].condition == .crashesAtLeast(20))
    }

    @Test func `what is optional is filled in`() throws {
        let rule = #"{"name":"r","state":"Halt","window_s":60,"crashes_at_least":1}"#
        let policy = try decode(#"{"name":"p","version":3,"rules":[\#(rule)]}"#).policy
        #expect(policy.version == 3)
        #expect(policy.tickMilliseconds == 1_000)
        #expect(policy.initial == .caution)
        #expect(policy.initialHoldSeconds == 600)
        #expect(policy.confidence == nil)
        #expect(policy.caution == Level())
        #expect(policy.relapseSeconds == 0 && policy.dwellMaxSeconds == 0)
        #expect(policy.silence == nil && policy.launch == nil)
        #expect(policy.rules[0].minSessions == 0 && policy.rules[0].minDevices == 0)
    }

    @Test func `stress rules are read as they are meant`() throws {
        let source = try Fixture.bytes("examples/valid/policy/stress-rules.json")
        let policy = try PolicyDocument(source, with: DocumentReader()).policy
        #expect(
            policy.stress == [
                StressRule(
                    name: "annoyed", condition: .signalsPerThousandAtLeast(20, .hour),
                    minImpressions: 1_000, nonFatals: 2),
                StressRule(
                    name: "annoying-day", condition: .signalsPerThousandAtLeast(7.5, .day),
                    minImpressions: 0, nonFatals: 1),
                StressRule(
                    name: "slower", condition: .dismissTrendAtLeast(1.5), minImpressions: 1_000,
                    nonFatals: 1),
            ])
        #expect(BuiltInPolicies.default.stress == [])
    }

    @Test func `everything that is wrong is told at once`() {
        let problems = problems(
            #"""
            {"name": "a b", "version": 0, "tick_ms": 1.5, "counting": "session", "initial": "Off",
             "confidense": 0.9, "confidence": 1, "silence": {"share": 2}, "launch": [],
             "levels": {"Halt": {"dwell": 1}, "Normal": {}, "Caution": {"dwell_s": 90}},
             "version": 1,
             "rules": [{"name": "r", "state": "Normal", "window_s": 61},
                       {"name": "r", "state": "Halt", "window_s": 60, "crash_free_below": "x"}]}
            """#)
        #expect(
            problems == [
                "confidense: unknown key; did you mean confidence?",
                "version: given twice",
                "levels.Normal: unknown key; known are Caution, Throttle, Halt",
                #"name: expected 1 to 64 of A-Z a-z 0-9 . _ -, found "a b""#,
                "tick_ms: expected a whole number, 100 ... 3600000, found 1.5",
                #"counting: expected one of sessions, events, found "session""#,
                #"initial: expected one of Normal, Caution, Throttle, Halt, found "Off""#,
                "confidence: expected a number, at least 0 and below 1, found 1",
                #"rules[0].state: expected one of Caution, Throttle, Halt, found "Normal""#,
                "rules[0].window_s: expected one of 60, 600, 3600, found 61",
                "rules[0].crash_free_below: missing; expected this or crashes_at_least",
                #"rules[1].crash_free_below: expected a number, 0 ... 1, found "x""#,
                "rules[1].name: expected a name that no other rule has",
                "levels.Halt.dwell: unknown key; did you mean dwell_s?",
                "silence.share: expected a number, 0 ... 1, found 2",
                "silence.baseline: missing; expected a whole number, 1 ... 1000000000",
                "launch: expected an object, found an array",
            ])
    }

    @Test(arguments: [
        ("", ["expected JSON"]), ("[1", ["expected JSON"]),
        ("[]", ["expected an object, found an array"]),
        (
            "{}",
            [
                "name: missing; expected 1 to 64 of A-Z a-z 0-9 . _ -",
                "version: missing; expected a whole number, 1 ... 1000000000",
                "rules: missing; expected an array of 1 to 32 rules",
            ]
        ),
    ])
    func `what is no policy at all is refused with a few words`(source: String, words: [String]) {
        #expect(problems(source) == words)
    }

    @Test(arguments: Fixture.files(in: "examples/valid/policy"))
    func `a valid example is a policy`(path: String) throws {
        let document = try PolicyDocument(Fixture.bytes(path), with: DocumentReader())
        #expect(document.source == (try Fixture.bytes(path)))
    }

    @Test(arguments: Fixture.files(in: "examples/invalid/policy"))
    func `an invalid example has one problem`(path: String) throws {
        let source = String(decoding: try Fixture.bytes(path), as: UTF8.self)
        #expect(problems(source).count == 1)
    }

    private func decode(_ source: String) throws(DocumentProblems) -> PolicyDocument {
        try PolicyDocument(Array(source.utf8), with: DocumentReader())
    }

    private func problems(_ source: String) -> [String] {
        do {
            _ = try decode(source)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}
