// The bridge against the double: conflicts, tags, people's values, the number of versions, tokens.
import BrakeModel
import BrakeWire
import HTTPServer
import Runtime
import Testing

@testable import Bridge

@Suite struct RemoteConfigBridgeTests {
    private static let plain =
        #"{"parameters":{"ad_throttle_state":{"defaultValue":{"value":"Normal"}},"other":{}}}"#

    private func ready(_ template: String = plain) throws -> BridgeWorld {
        let world = try BridgeWorld(template)
        try world.decide("shop", .normal, revision: 1)
        try world.step()
        return world
    }

    @Test func `a state becomes the value, in a version that says so, and all else stays`() throws {
        let world = try ready(TemplateTests.rich)
        #expect(world.double.count == 1, "nothing to change, no version")
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(try world.value() == "Halt")
        #expect(world.double.newest.description == "AdBrake: default Halt")
        #expect(
            world.double.newest.template
                == TemplateTests.rich.replacing(
                    "\"value\" : \"Normal\"", with: "\"value\" : \"Halt\""))
        #expect(world.double.complaints == [])
    }

    @Test func `each app of a project has its condition`() throws {
        let world = try BridgeWorld(
            Self.plain, usual: nil, apps: [("one", "1:1:ios:a"), ("two", "1:1:android:b")])
        try world.decide("one", .throttle, revision: 1)
        try world.step()
        #expect(try world.value("one") == "Throttle")
        #expect(try world.value("two") == "Caution", "an app that nobody has heard of")
        #expect(try world.value() == "Normal", "nobody's app is the default")
        let template = DocumentReader().read(Array(world.double.newest.template.utf8))
        #expect(
            template?["conditions"]?.array?.compactMap { $0["expression"]?.text }
                == ["app.id == '1:1:ios:a'", "app.id == '1:1:android:b'"])
        #expect(world.double.complaints == [])
    }

    @Test func `who publishes meanwhile is read again, and keeps what he wrote`() throws {
        let world = try ready()
        for index in 1...3 {
            world.double.state.withLock { state in
                state.interruptions.append { double in
                    let text = double.newest.template.replacing(
                        "\"other\":{}", with: "\"other\":{},\"new\(index)\":{}")
                    double.publish(text, author: RemoteConfigDouble.person)
                }
            }
        }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(try world.value() == "Halt")
        for index in 1...3 { #expect(world.double.newest.template.contains("\"new\(index)\"")) }
        #expect(world.metric("adbrake_bridge_conflicts_total") == 3)
        #expect(world.double.complaints == [])
    }

    @Test func `tries against a faster one have a limit, and go on later`() throws {
        let world = try ready()
        world.double.state.withLock { state in
            for _ in 0..<7 {
                state.interruptions.append { $0.publish($0.newest.template + " ", author: "x") }
            }
        }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(world.double.state.read { $0.written.count } == 0)
        #expect(world.metric("adbrake_bridge_failing") == 1)
        let calls = world.double.state.read { $0.calls.count }
        try world.step(after: 500)
        #expect(world.double.state.read { $0.calls.count } == calls, "not at once")
        try world.step(after: 1_000)
        #expect(try world.value() == "Halt")
        #expect(world.metric("adbrake_bridge_failing") == 0)
    }

    @Test func `a value that a person sets stays, also in the middle of a publishing`() throws {
        let world = try ready()
        world.double.state.withLock { state in
            state.interruptions.append { double in
                double.publish(
                    double.newest.template.replacing("\"Normal\"", with: "\"Caution\""),
                    author: RemoteConfigDouble.person)
            }
        }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(try world.value() == "Caution")
        #expect(world.metric("adbrake_bridge_pinned") == 1)
        for revision in 3...5 {
            let state: ThrottleState = revision % 2 == 0 ? .throttle : .normal
            try world.decide("shop", state, revision: Int64(revision))
            try world.step(after: 61_000)
            try world.beat()
        }
        #expect(try world.value() == "Caution")
        // Set to what the brake says, it is the brake's again.
        world.double.publish(
            world.double.newest.template.replacing("\"Caution\"", with: "\"Normal\""),
            author: RemoteConfigDouble.person)
        try world.step(after: 301_000)
        #expect(world.metric("adbrake_bridge_pinned") == 0)
        try world.decide("shop", .halt, revision: 6)
        try world.step(after: 1_000)
        #expect(try world.value() == "Halt")
    }

    @Test
    func `a person's value outlives a restart of the bridge; the bridge's own does not hold it`()
        throws
    {
        let world = try ready()
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        world.restart()
        try world.decide("shop", .throttle, revision: 3)
        try world.step(after: 1_000)
        #expect(try world.value() == "Throttle", "what we wrote is ours after a restart, too")
        world.double.publish(
            world.double.newest.template.replacing("\"Throttle\"", with: "\"Normal\""),
            author: RemoteConfigDouble.person)
        world.double.publish(
            world.double.newest.template.replacing("\"other\"", with: "\"another\""),
            author: RemoteConfigDouble.person)
        world.restart()
        try world.decide("shop", .halt, revision: 4)
        try world.step(after: 1_000)
        #expect(try world.value() == "Normal")
        #expect(world.metric("adbrake_bridge_pinned") == 1)
        // A value that is deleted is given back.
        world.double.publish(#"{"parameters":{}}"#, author: RemoteConfigDouble.person)
        try world.step(after: 301_000)
        try world.beat()
        #expect(try world.value() == "Halt")
        #expect(world.double.complaints == [])
    }

    @Test func `without a tag nothing is written`() throws {
        let world = try ready()
        world.double.state.withLock { $0.hidesTags = true }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(world.double.state.read { $0.written.count } == 0)
        #expect(world.double.state.read { !$0.calls.contains { $0.hasPrefix("PUT") } })
        #expect(world.metric("adbrake_bridge_failing") == 1)
        world.double.state.withLock { $0.hidesTags = false }
        try world.step(after: 301_000)
        try world.beat()
        #expect(try world.value() == "Halt")
        #expect(world.double.complaints == [])
    }

    @Test func `what becomes stricter goes out at once, what eases once a minute`() throws {
        let world = try ready()
        var revision: Int64 = 1
        func decide(_ state: ThrottleState, after milliseconds: Int64) throws {
            revision += 1
            try world.decide("shop", state, revision: revision)
            try world.step(after: milliseconds)
        }
        try decide(.caution, after: 0)
        #expect(try world.value() == "Caution")
        try decide(.throttle, after: 1_000)
        try decide(.halt, after: 1_000)
        #expect(try world.value() == "Halt")
        #expect(world.double.count == 4)
        for state in [ThrottleState.throttle, .caution, .normal] {
            try decide(state, after: 19_000)
            #expect(try world.value() == "Halt")
        }
        try world.beat()
        try world.step(after: 3_000)
        #expect(try world.value() == "Normal", "three changes in one version")
        #expect(world.double.count == 5)
    }

    @Test func `an evaluator that is not heard of for too long means Caution, once`() throws {
        let world = try ready()
        try world.step(after: 900_000)
        #expect(try world.value() == "Normal")
        try world.step(after: 1)
        #expect(try world.value() == "Caution")
        try world.step(after: 3_600_000)
        #expect(world.double.count == 2)
        try world.beat()
        try world.step(after: 61_000)
        #expect(try world.value() == "Normal")
    }

    @Test func `a token is used until shortly before its end, and another one got when refused`()
        throws
    {
        let world = try ready()
        try world.step(after: 301_000)
        #expect(world.double.state.read { $0.proofs.count } == 1)
        try world.beat()
        try world.step(after: 3_000_001)
        #expect(world.double.state.read { $0.proofs.count } == 2)
        // Taken back before its time.
        world.double.state.withLock { $0.tokens = [] }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(try world.value() == "Halt")
        #expect(world.double.state.read { $0.proofs.count } == 3)
        #expect(world.double.complaints == [])
    }

    @Test(arguments: [429, 500, 503])
    func `a service that is busy is left in peace for as long as it says`(_ status: Int) throws {
        let world = try ready()
        world.double.state.withLock { state in
            state.refusals.append(("PUT /v1/projects/test-project/remoteConfig", status, 30))
        }
        try world.decide("shop", .halt, revision: 2)
        try world.step()
        #expect(try world.value() == "Normal")
        let calls = world.double.state.read { $0.calls.count }
        try world.step(after: 29_999)
        #expect(world.double.state.read { $0.calls.count } == calls)
        try world.step(after: 1)
        #expect(try world.value() == "Halt")
    }

    @Test func `an answer that is lost after it took effect does not make a person of us`() throws {
        let world = try ready()
        world.double.state.withLock { state in
            state.interruptions.append { double in
                // The writing takes effect, and the answer is an error all the same.
                let text = double.newest.template.replacing("\"Normal\"", with: "\"Throttle\"")
                double.publish(text, author: TestAccount.email)
                double.state.withLock {
                    $0.refusals.append(
                        ("GET /v1/projects/test-project/remoteConfig", 503, nil))
                }
            }
        }
        try world.decide("shop", .throttle, revision: 2)
        try world.step()
        #expect(try world.value() == "Throttle")
        try world.decide("shop", .halt, revision: 3)
        try world.step(after: 2_000)
        #expect(try world.value() == "Halt")
        #expect(world.metric("adbrake_bridge_pinned") == 0)
    }

    @Test func `an older record of a zombie does not loosen what is published`() throws {
        let world = try ready()
        try world.decide("shop", .halt, revision: 42)
        try world.decide("shop", .normal, revision: 41)
        try world.step()
        #expect(try world.value() == "Halt")
    }
}
