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

    @Test(arguments: invalid)
    func `an invalid example is rejected for its folder's reason`(
        reason: Rejection, path: String
    ) throws {
        let decoded = Decoded(try Fixture.bytes(path))
        #expect(decoded.rejected.map(\.reason) == [reason])
    }
}
