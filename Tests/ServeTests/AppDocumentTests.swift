// The document of an app through the router, without a socket.
import BrakeModel
import BrakeWire
import HTTPServer
import Serve
import Testing

@Suite struct AppDocumentTests {
    @Test func `an app's document says what holds, since when, why, and for how long`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .halt, revision: 7)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        world.time.pass(milliseconds: 1_500)

        let document = try world.document("/v1/apps/shop")
        let names = try #require(document.fields).map(\.key)
        #expect(
            names == [
                "app", "state", "severity", "since", "revision", "cause", "caps", "issued_at",
                "age_ms", "stale", "valid_until", "ttl_s", "default_state",
            ])
        #expect(document["app"]?.text == "shop")
        #expect(document["state"]?.text == "Halt")
        #expect(document["severity"]?.integer == 3)
        #expect(document["since"]?.integer == TestTime.start)
        #expect(document["revision"]?.integer == 7)
        #expect(document["cause"]?.text == "rule")
        #expect(document["caps"]?["per_hour"]?.integer == 3)
        #expect(document["caps"]?["per_day"]?.integer == 8)
        #expect(document["issued_at"]?.integer == TestTime.start + 1_500)
        #expect(document["age_ms"]?.integer == 1_500)
        #expect(document["stale"] == .bool(false))
        #expect(document["valid_until"]?.integer == TestTime.start + 900_000)
        #expect(document["ttl_s"]?.integer == 15)
        #expect(document["default_state"]?.text == "Caution")
    }

    @Test func `an app that is not known is in Caution`() throws {
        let world = EdgeWorld()
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        #expect(try world.state(of: "nobody") == "Caution unknown_app")
        #expect(try world.document("/v1/apps/nobody")["revision"]?.integer == 0)
    }

    @Test(arguments: ["a%20b", "%C3%A4", String(repeating: "x", count: 65), "a%3Cb%3E"])
    func `what is no app id is refused with a hint`(_ id: String) throws {
        let world = EdgeWorld()
        let response = try world.get("/v1/apps/\(id)")
        #expect(response.status == 400)
        #expect(String(decoding: response.bytes, as: UTF8.self).contains("hint"))
        #expect(try world.get("/api/ad/freq-cap?app=\(id)").status == 400)
    }

    @Test func `before the table is complete every app is in Caution, and the edge not ready`()
        throws
    {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        #expect(try world.get("/readyz").status == 503)
        #expect(try world.get("/livez").status == 200)
        #expect(try world.state(of: "shop") == "Caution not_ready")
        world.start()
        try world.waitUntilReady()
        #expect(try world.state(of: "shop") == "Normal rule")
    }

    @Test func `answers grow stale, and what is looser than Caution expires`() throws {
        let world = EdgeWorld()
        for (app, state) in [
            ("n", ThrottleState.normal), ("c", .caution), ("t", .throttle), ("h", .halt),
        ] {
            try world.throttle(app, state, revision: 4)
        }
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()

        world.time.pass(milliseconds: 10_000)
        #expect(try world.document("/v1/apps/n")["stale"] == .bool(false))
        world.time.pass(milliseconds: 1)
        #expect(try world.document("/v1/apps/n")["stale"] == .bool(true))
        world.time.pass(milliseconds: 889_999)
        #expect(try world.state(of: "n") == "Normal rule")
        world.time.pass(milliseconds: 1)
        #expect(try world.state(of: "n") == "Caution expired")
        #expect(try world.document("/v1/apps/n")["revision"]?.integer == 4)
        #expect(try world.document("/v1/apps/n")["since"]?.integer == TestTime.start + 900_000)
        #expect(try world.state(of: "c") == "Caution rule")
        #expect(try world.state(of: "t") == "Throttle rule")
        #expect(try world.state(of: "h") == "Halt rule")

        try world.epoch(2)
        try Wait.until { try world.state(of: "n") == "Normal rule" }
        #expect(try world.document("/v1/apps/n")["age_ms"]?.integer == 0)
    }
}
