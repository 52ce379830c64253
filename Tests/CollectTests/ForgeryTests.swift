// Who tries to be somebody else, or to learn about somebody: other apps' names in every spelling,
// and secrets that must not be left in the log.
import BrakeWire
import Collect
import EventLog
import HTTPServer
import Runtime
import Testing

@Suite struct ForgeryTests {
    private static let key = "key-of-one-app-0001"

    @Test(arguments: [
        #"{"type":"session","app":"theirs"}"#,
        #"{"type":"session","app":"mine","app":"theirs"}"#,
        #"{"app":"mine","type":"session","\u0061pp":"theirs"}"#,
        #"{"type":"session","app":"\u0074heirs"}"#,
        #"{"type":"session","x":{"app":"mine"},"app":"theirs"}"#,
        #"[{"type":"session","app":"theirs"},{"type":"session","app":"mine","app":"theirs"}]"#,
    ])
    func `An app is another's however it is spelled`(text: String) throws {
        let world = try GateWorld(keys: "\(Self.key) mine\n")
        let answer = try world.upload(text, key: Self.key)
        #expect(answer.status == 403 && answer.why == "wrong_app")
        #expect(try world.events(.session).isEmpty)
    }

    @Test func `Of a mixed upload only the own events are taken`() throws {
        let world = try GateWorld(keys: "\(Self.key) mine\n")
        let events = ["theirs", "mine", "Mine", "mine.", "mine"].map {
            #"{"type":"session","app":"\#($0)","session":"s"}"#
        }
        let answer = try world.upload("[\(events.joined(separator: ","))]", key: Self.key)
        #expect(DocumentReader().read(answer.bytes)?["accepted"]?.integer == 2)
        #expect(try world.events(.session).compactMap { $0["app"]?.text } == ["mine", "mine"])
    }

    @Test(arguments: [
        "Bearer", "Bearer ", "Basic a2V5LW9mLW9uZS1hcHAtMDAwMQ==", "Bearer key-of-one-app-0001x",
        "Bearer key-of-one-app-000", "Bearer KEY-OF-ONE-APP-0001", "key-of-one-app-0001",
        "Bearer key-of-one-app-0001,key-of-one-app-0001", "Bearer #", "Bearer *",
    ])
    func `What is nearly a key is none`(authorization: String) throws {
        let world = try GateWorld(keys: "\(Self.key) mine # a comment\n")
        let body = Array(#"{"type":"session","app":"mine"}"#.utf8)
        let headers = [(name: "Authorization", value: authorization)]
        #expect(try world.post("/v1/events", body, headers).status == 401)
    }

    @Test func `Neither keys nor devices nor addresses are in what is logged`() throws {
        let world = try GateWorld(keys: "\(Self.key) mine\n")
        let (device, address) = ("device-7731", "203.0.113.77")
        let event = #"{"type":"session","app":"mine","device":"\#(device)","session":"s"}"#
        let envelope =
            #"{"dsn":"https://\#(Self.key)@example.com/mine"}"# + "\n" + #"{"type":"session"}"#
            + "\n" + #"{"sid":"s","did":"\#(device)","init":true,"status":"ok","#
            + #""started":"2026-02-07T14:16:00Z","attrs":{"release":"mine@1"}}"#
        for isAway in [false, true] {
            if isAway { world.log.failAppends(Array(repeating: .before, count: 3)) }
            _ = try world.upload(event, key: Self.key, once: "once-8812", from: address)
            _ = try world.upload(event, key: "another-key-00001", from: address)
            _ = try world.post(
                "/api/mine/envelope/?sentry_key=\(Self.key)", Array(envelope.utf8), from: address)
        }
        #expect(world.lines.text.contains("could not be appended"))
        for secret in [Self.key, "another-key", device, address, "once-8812"] {
            #expect(!world.lines.text.contains(secret), "\(secret)")
        }
        #expect(!world.metrics.rendered().contains(Self.key))
    }
}
