// The endpoints of other protocols: who may send, and what is answered.
import BrakeWire
import Collect
import EventLog
import HTTPServer
import Runtime
import Testing

@Suite struct ForeignEndpointTests {
    private static let key = "0123456789abcdef0123456789abcdef"
    private static let id = "9ec79c33ec9942ab8353589fcb2e04dc"

    private static func envelope(_ items: [(type: String, payload: String)]) -> [UInt8] {
        var text = #"{"event_id":"\#(id)","sent_at":"2026-02-07T14:17:00Z"}"# + "\n"
        for (type, payload) in items {
            let length = payload.utf8.count
            text += #"{"type":"\#(type)","length":\#(length)}"# + "\n" + payload + "\n"
        }
        return Array(text.utf8)
    }

    private static let session = #"""
        {"sid":"7c7b6585-f901-4351-bf8d-02711b721929","did":"device-1","init":true,
        "started":"2026-02-07T14:16:00Z","status":"ok","attrs":{"release":"my.app@1.2"}}
        """#

    private func sentry(_ world: GateWorld, _ path: String, key: String?) throws -> Response {
        let auth = key.map { "Sentry sentry_version=7, sentry_key=\($0), sentry_client=test/1" }
        return try world.post(
            path, Self.envelope([("session", Self.session)]),
            auth.map { [(name: "X-Sentry-Auth", value: $0)] } ?? [])
    }

    @Test func `An envelope's project is the app that the key's line says`() throws {
        let world = try GateWorld(
            keys: "\(Self.key) one,two project=7:one,8:two\nkey-of-one-app-only only\n")
        #expect(try sentry(world, "/api/7/envelope/", key: Self.key).status == 200)
        #expect(try sentry(world, "/api/8/envelope", key: Self.key).status == 200)
        let other = try sentry(world, "/api/9/envelope/", key: Self.key)
        #expect(other.status == 403 && other.why == "project")
        #expect(try sentry(world, "/api/5/envelope/", key: "key-of-one-app-only").status == 200)
        #expect(try sentry(world, "/api/7/envelope/", key: nil).why == "no_key")
        #expect(try sentry(world, "/api/7/envelope/", key: "nobody").why == "unknown_key")
        let query = try world.post(
            "/api/7/envelope/?sentry_key=\(Self.key)", Self.envelope([("session", Self.session)]))
        #expect(query.status == 200)
        let dsn = #"{"dsn":"https://\#(Self.key)@example.com/7"}"# + "\n"
        #expect(try world.post("/api/7/envelope/", Array(dsn.utf8)).status == 200)
        let apps = try world.events(.session).compactMap { $0["app"]?.text }
        #expect(apps.sorted() == ["one", "one", "only", "two"])
        #expect(!world.lines.text.contains(Self.key))
    }

    @Test func `Without keys the project number is the app`() throws {
        let world = try GateWorld()
        let answer = try sentry(world, "/api/42/envelope/", key: "anything")
        #expect(answer.text == #"{"id":"\#(Self.id)"}"#)
        #expect(try world.events(.session).map { $0["app"]?.text } == ["42"])
    }

    @Test func `What has no meaning here is answered as if it had, and counted`() throws {
        let world = try GateWorld()
        let body = Self.envelope([
            ("transaction", "{}"), ("attachment", "\u{1}\u{2}binary\nbinary"),
            ("no_such_item", "{}"), ("session", "not JSON"), ("event", #"{"level":"debug"}"#),
        ])
        let answer = try world.post("/api/1/envelope/", body)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"id":"\#(Self.id)"}"#)
        let text = world.metrics.rendered()
        for what in ["transaction", "attachment", "other", "bad_json", "message"] {
            let line = #"adbrake_collect_ignored_total{protocol="sentry",what="\#(what)"} 1"#
            #expect(text.contains(line), "\(what)")
        }
        #expect(try world.post("/api/1/envelope/", Array("[]".utf8)).why == "envelope")
    }

    @Test func `A log that is away is told in the protocol's own words`() throws {
        let world = try GateWorld()
        world.log.failAppends([.before])
        let answer = try sentry(world, "/api/42/envelope/", key: nil)
        #expect(answer.status == 503)
        #expect(answer.headers["X-Sentry-Rate-Limits"] == "1::key")
        #expect(answer.headers["Retry-After"] == "1")
    }

    // MARK: OpenTelemetry

    private static func logs(_ records: String) -> [UInt8] {
        let resource = #"{"attributes":[{"key":"service.name","value":{"stringValue":"my.app"}}]}"#
        return Array(
            #"{"resourceLogs":[{"resource":\#(resource),"scopeLogs":[{"logRecords":[\#(records)]}]}]}"#
                .utf8)
    }

    private static func start(_ session: String) -> String {
        #"""
        {"timeUnixNano":"1770473760000000000","eventName":"session.start",
        "attributes":[{"key":"session.id","value":{"stringValue":"\#(session)"}}]}
        """#
    }

    private func otlp(
        _ world: GateWorld, _ body: [UInt8], type: String = "application/json", key: String? = nil
    ) throws -> Response {
        var headers = [(name: "Content-Type", value: type)]
        if let key { headers.append(("Authorization", "Bearer \(key)")) }
        return try world.post("/v1/logs", body, headers)
    }

    @Test func `Log records that are events of ours are taken, the others told`() throws {
        let world = try GateWorld()
        let all = try otlp(world, Self.logs(Self.start("s1")))
        #expect(all.status == 200 && all.text == "{}")
        let some = try otlp(
            world, Self.logs(Self.start("s2") + #",{"body":{"stringValue":"hello"}}"#))
        #expect(some.status == 200)
        let partial = DocumentReader().read(some.bytes)?["partialSuccess"]
        #expect(partial?["rejectedLogRecords"]?.text == "1")
        #expect(partial?["errorMessage"]?.text?.hasPrefix("not used: 1 log.") == true)
        #expect(try world.events(.session).map { $0["app"]?.text } == ["my.app", "my.app"])
    }

    @Test func `A key for one app reports for it whatever the service is called`() throws {
        let (one, two) = ("key-of-one-app-only", "key-of-two-apps-001")
        let world = try GateWorld(keys: "\(one) only\n\(two) my.app,other\n")
        #expect(try otlp(world, Self.logs(Self.start("s1")), key: one).text == "{}")
        #expect(try otlp(world, Self.logs(Self.start("s2")), key: two).text == "{}")
        let unknown = try otlp(world, Self.logs(Self.start("s3")), key: "nobody")
        #expect(unknown.status == 401)
        #expect(DocumentReader().read(unknown.bytes)?["message"]?.text != nil)
        let apps = try world.events(.session).compactMap { $0["app"]?.text }
        #expect(apps.sorted() == ["my.app", "only"])
    }

    @Test func `A body that is not what its type says is refused`() throws {
        let world = try GateWorld()
        #expect(try otlp(world, [1, 2, 3]).why == "otlp")
        #expect(try otlp(world, [1, 2, 3], type: "application/x-protobuf").why == "otlp")
        #expect(try otlp(world, [1, 2, 3], type: "text/plain").status == 415)
        #expect(try otlp(world, [], type: "application/x-protobuf").status == 200)
        let json = "application/json; charset=utf-8"
        #expect(try otlp(world, Self.logs(Self.start("s1")), type: json).status == 200)
    }
}
