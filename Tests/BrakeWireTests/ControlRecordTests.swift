// What people decide, as bytes and back, and everything that can be wrong with it.

import BrakeEngine
import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct ControlRecordTests {
    private static let policy =
        #"{"name":"mine","version":2,"rules":[{"name":"a","state":"Halt","window_s":60,"#
        + #""crashes_at_least":3}]}"#

    static func contents() throws -> [ControlRecord.Content] {
        let stored = try StoredPolicy(DocumentReader().read(Array(policy.utf8)) ?? .null)
        let app = try #require(AppID("my.app"))
        let games = try #require(AppPattern("com.*.game"))
        let germany = try #require(CountryCode("DE"))
        return [
            .policy(name: "mine", stored), .policy(name: "mine", nil),
            .assignment(games, policy: "mine"), .assignment(.all, policy: nil),
            .override(app, OverrideTerms(mode: .pin, state: .halt, expiresAt: nil)),
            .override(nil, OverrideTerms(mode: .atLeast, state: .caution, expiresAt: 1_800)),
            .override(app, OverrideTerms(mode: .atMost, state: .throttle, expiresAt: 1)),
            .override(nil, nil),
            .cap(CapPlace(app: app, country: germany), FrequencyCaps(perHour: 2, perDay: 9)),
            .cap(CapPlace(app: app), FrequencyCaps(perHour: 0, perDay: 0)),
            .cap(CapPlace(country: germany), nil), .cap(.fleet, nil),
        ]
    }

    @Test func `every kind comes back as it was written`() throws {
        for content in try Self.contents() {
            let record = ControlRecord(content, by: "änna \"x\"", at: 17, reason: "a\nb")
            let bytes = record.encode()
            #expect(try decode(bytes) == record)
            #expect(try decode(bytes).encode() == bytes)
        }
    }

    @Test(
        arguments: [
            ("{", ["expected JSON"]),
            ("[]", ["expected an object, found an array"]),
            ("{}", ["v: expected 1, found nothing"]),
            (
                #"{"v":1,"type":"pin"}"#,
                [#"type: expected one of policy, assignment, override, cap, found "pin""#]
            ),
            (
                #"{"v":1,"type":"override","app":"a b","mode":"pinned","state":"Off","by":"","#
                    + #""at":0,"expires_at":"x","until":3}"#,
                [
                    "until: unknown key; known are app, mode, state, expires_at, v, type, by, at, "
                        + "reason, removed",
                    #"app: expected an app id, or * for all apps, found "a b""#,
                    #"mode: expected one of pin, at_least, at_most, found "pinned""#,
                    #"state: expected one of Normal, Caution, Throttle, Halt, found "Off""#,
                    #"expires_at: expected a whole number, 1 ... 9007199254740992, found "x""#,
                    #"by: expected 1 to 64 characters, found """#,
                    "at: expected a whole number, 1 ... 9007199254740992, found 0",
                    "reason: missing; expected 1 to 500 characters",
                ]
            ),
            (
                #"{"v":1,"type":"override","app":"*","state":"Halt","removed":true,"by":"a","#
                    + #""at":1,"reason":"r"}"#,
                ["state: not expected with removed"]
            ),
            (
                #"{"v":1,"type":"cap","app":"*","country":"Germany","per_hour":3,"per_day":2,"#
                    + #""by":"a","at":1,"reason":"r"}"#,
                [
                    #"country: expected two letters or *, found "Germany""#,
                    "per_hour: expected at most per_day, 2",
                ]
            ),
            (
                #"{"v":1,"type":"policy","name":"mine","by":"a","at":1,"reason":"r","#
                    + #""document":{"name":"yours","version":0,"rules":[]}}"#,
                [
                    "document.version: expected a whole number, 1 ... 1000000000, found 0",
                    "document.rules: expected an array of 1 to 32 rules",
                ]
            ),
            (
                #"{"v":1,"type":"policy","name":"yours","by":"a","at":1,"reason":"r","#
                    + #""document":\#(policy)}"#,
                [#"document.name: expected "yours", the name of the record"#]
            ),
            (
                #"{"v":1,"type":"assignment","apps":"a/*","by":"a","at":1,"reason":"r"}"#,
                [#"apps: expected an app id, in which * stands for any characters, found "a/*""#]
            ),
        ] as [(String, [String])])
    func `all that is wrong is told`(_ source: String, _ problems: [String]) {
        do {
            _ = try decode(Array(source.utf8))
            Issue.record("taken: \(source)")
        } catch {
            #expect(error.problems.map(\.description) == problems)
        }
    }

    @Test(arguments: Fixture.files(in: "examples/valid/control"))
    func `a valid example is a control record, as we write it`(path: String) throws {
        let bytes = try Array(Fixture.bytes(path).dropLast())
        #expect(try decode(bytes).encode() == bytes)
    }

    @Test(arguments: Fixture.files(in: "examples/invalid/control"))
    func `an invalid example has one problem`(path: String) throws {
        let bytes = try Fixture.bytes(path)
        do {
            _ = try decode(bytes)
            Issue.record("taken: \(path)")
        } catch {
            #expect(error.problems.count == 1, "\(error)")
        }
    }

    @Test func `there are examples of every kind`() throws {
        let types = try Fixture.files(in: "examples/valid/control").map {
            try decode(Fixture.bytes($0)).content.type
        }
        #expect(Set(types) == Set(ControlRecord.Content.types))
        #expect(!Fixture.files(in: "examples/invalid/control").isEmpty)
    }

    /// Bytes from a topic may be anything: none traps, and what is taken is written back the same.
    @Test(arguments: 0..<40) func `cut and flipped bytes never trap`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var ledger = ControlLedger()
        let reader = DocumentReader()
        for content in try Self.contents() {
            var bytes = ControlRecord(content, by: "a", at: 1, reason: "r").encode()
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            let cut = bytes.prefix(
                Bool.random(using: &random) ? bytes.count : .random(in: 0...bytes.count))
            unsafe Array(cut).withUnsafeBytes {
                unsafe ledger.take(offset: ledger.end, value: $0, with: reader)
            }
        }
        #expect(ledger.end == Int64(try Self.contents().count), "seed \(seed)")
    }

    private func decode(_ bytes: [UInt8]) throws(DocumentProblems) -> ControlRecord {
        guard let value = DocumentReader().read(bytes) else {
            throw DocumentProblems("expected JSON")
        }
        return try ControlRecord(value)
    }
}
