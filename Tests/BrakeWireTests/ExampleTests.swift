// The examples under `schemas`, which other producers and consumers hold on to.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct ExampleTests {
    /// Each valid example with the type that its folder says.
    static let valid: [(EventType, String)] = EventType.allCases.flatMap { type in
        Fixture.files(in: "examples/valid/\(type.name)").map { (type, $0) }
    }

    /// Each invalid example with the reason that its folder says.
    static let invalid: [(Rejection, String)] = Rejection.allCases.flatMap { reason in
        Fixture.files(in: "examples/invalid/\(reason.rawValue)").map { (reason, $0) }
    }

    @Test func `there are examples of every type and of the common reasons`() {
        #expect(Set(Self.valid.map(\.0)) == Set(EventType.allCases))
        #expect(
            Set(Self.invalid.map(\.0)).isSuperset(of: [.badJSON, .badApp, .badTime, .badField]))
    }

    @Test(arguments: valid)
    func `a valid example is taken as its folder's type`(type: EventType, path: String) throws {
        let decoded = Decoded(try Fixture.bytes(path))
        #expect(decoded.rejected == [])
        let key = decoded.apps.first ?? "none"
        let fromTopic = Decoded(try Fixture.bytes(path), topic: type, key: key)
        #expect(fromTopic.rejected == [])
        #expect(fromTopic.events.count == decoded.events.count)
    }

    /// Records of our own topics, each read as its topic's stages read it.
    static let records: [(String, String, Bool)] =
        ["throttle", "stress", "epoch", "notice", "dead"]
        .flatMap { name in
            Fixture.files(in: "examples/valid/\(name)").map { (name, $0, true) }
                + Fixture.files(in: "examples/invalid/\(name)").map { (name, $0, false) }
        }

    @Test(arguments: records)
    func `a record of ours is read if its schema allows it`(
        name: String, path: String, isValid: Bool
    ) throws {
        let reader = DocumentReader()
        let bytes = try Fixture.bytes(path)
        let isRead = unsafe bytes.withUnsafeBytes { bytes in
            switch name {
            case "throttle": (try? unsafe ThrottleRecord.decode(bytes, with: reader)) != nil
            case "stress": (try? unsafe StressRecord.decode(bytes, with: reader)) != nil
            case "epoch": (try? unsafe EpochRecord.decode(bytes, with: reader)) != nil
            case "notice": (try? unsafe Notice.decode(bytes, with: reader)) != nil
            default: (try? unsafe DeadRecord.decode(bytes, with: reader)) != nil
            }
        }
        #expect(isRead == isValid)
    }

    @Test func `there is an example for every reason that a record of an input can have`() {
        let reasons = Set(Rejection.allCases).subtracting([.unknownVersion, .tooManyApps])
        #expect(Set(Self.invalid.map(\.0)) == reasons)
    }

    @Test(arguments: invalid)
    func `an invalid example is rejected for its folder's reason`(
        reason: Rejection, path: String
    ) throws {
        let decoded = Decoded(try Fixture.bytes(path))
        #expect(decoded.rejected.map(\.reason) == [reason])
    }
}
