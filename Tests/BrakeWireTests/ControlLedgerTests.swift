// Records of `control` folded into what holds.

import BrakeEngine
import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct ControlLedgerTests {
    private func policy(_ name: String, _ version: Int) throws -> StoredPolicy {
        let source =
            #"{"name":"\#(name)","version":\#(version),"rules":[{"name":"a","#
            + #""state":"Halt","window_s":60,"crashes_at_least":3}]}"#
        return try StoredPolicy(DocumentReader().read(Array(source.utf8)) ?? .null)
    }

    private func ledger(_ contents: [ControlRecord.Content]) throws -> ControlLedger {
        var ledger = ControlLedger()
        for content in contents {
            try ledger.take(
                ControlRecord(content, by: "a", at: 1, reason: "r"), offset: ledger.end)
        }
        return ledger
    }

    private func pattern(_ text: String) throws -> AppPattern { try #require(AppPattern(text)) }

    @Test func `the most particular pattern that fits gives an app its policy`() throws {
        let ledger = try ledger([
            .policy(name: "p", policy("p", 1)), .policy(name: "q", policy("q", 4)),
            .assignment(pattern("com.*"), policy: "p"),
            .assignment(pattern("com.acme.*"), policy: "article"),
            .assignment(pattern("com.acme.one"), policy: "q"),
            .assignment(pattern("*.gone"), policy: "nobody-knows-it"),
        ])
        let controls = ledger.controls(base: BuiltInPolicies.default) { _ in true }
        func name(_ app: String) -> String {
            let first = controls.assignments.first { $0.apps.matches(app.utf8) }
            return controls.policies[first?.place ?? 0].name
        }
        #expect(name("com.acme.one") == "q")
        #expect(name("com.acme.two") == "article")
        #expect(name("com.other") == "p")
        #expect(name("org.other") == "default")
        #expect(name("is.gone") == "default")
        #expect(controls.policies.first?.name == "default")
        #expect(controls.policies.count == 4)
    }

    @Test func `a policy of the same name replaces the one that the program was started with`()
        throws
    {
        let base = BuiltInPolicies.default
        let ledger = try ledger([
            .policy(name: "default", policy("default", 9)),
            .assignment(pattern("a*"), policy: "default"),
        ])
        let controls = ledger.controls(base: base) { _ in true }
        #expect(controls.policies.map(\.version) == [9])
        #expect(controls.assignments.map(\.place) == [0])
        let removed = try self.ledger([
            .policy(name: "default", policy("default", 9)), .policy(name: "default", nil),
        ])
        #expect(removed.controls(base: base) { _ in true }.policies == [base])
    }

    @Test func `an override belongs to the partition of its app, that of all apps to each`() throws
    {
        let one = try #require(AppID("one"))
        let two = try #require(AppID("two"))
        let terms = OverrideTerms(mode: .pin, state: .halt, expiresAt: nil)
        let ledger = try ledger([
            .override(one, terms), .override(nil, terms), .override(two, terms),
            .override(two, nil),
        ])
        let all = ledger.controls(base: BuiltInPolicies.default) { _ in true }
        #expect(all.overrides.map(\.app) == [one, nil])
        #expect(all.overrides.map(\.number) == [0, 1])
        let none = ledger.controls(base: BuiltInPolicies.default) { _ in false }
        #expect(none.overrides.map(\.app) == [nil])
    }

    @Test func `a bad record changes nothing but the end, and is told`() throws {
        var ledger = try ledger([.cap(.fleet, FrequencyCaps(perHour: 1, perDay: 2))])
        let reader = DocumentReader()
        unsafe ledger.take(offset: 1, value: nil, with: reader)
        unsafe Array(#"{"v":2}"#.utf8).withUnsafeBytes {
            unsafe ledger.take(offset: 5, value: $0, with: reader)
        }
        #expect(ledger.end == 6)
        #expect(ledger.capTable.places == [.fleet: FrequencyCaps(perHour: 1, perDay: 2)])
        #expect(ledger.rejections.map(\.offset) == [1, 5])
        #expect(ledger.rejections.last?.reason == "v: expected 1, found 2")
    }

    @Test(
        arguments: [
            ("*", "a", true), ("a*", "a", true), ("a*", "ba", false), ("*a", "ba", true),
            ("a*c", "abbc", true), ("a*c", "abb", false), ("a*b*c", "axbxbc", true),
            ("a**c", "ac", true), ("abc", "abc", true), ("abc", "abcd", false),
            ("*.*.game", "com.acme.game", true), ("*.*.game", "com.game", false),
        ])
    func `a star stands for any characters`(_ text: String, _ app: String, _ fits: Bool) throws {
        #expect(try pattern(text).matches(app.utf8) == fits)
    }
}
