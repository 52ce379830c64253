// Base caps as people set them in `control`: looked up from the particular to the general, seen by
// every edge while it runs, and kept where the log is away.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Serve
import Testing

@Suite struct CapTests {
    private func caps(
        _ world: EdgeWorld, _ query: String, _ country: String, header: String = "CF-IPCountry"
    ) throws -> String {
        let response = try world.get("/api/ad/freq-cap\(query)", [(header, country)])
        return String(decoding: response.bytes, as: UTF8.self)
    }

    @Test func `caps go by app and country, app, country, fleet, and what is built in`() throws {
        let world = EdgeWorld()
        try world.cap("shop", "DE", 9, 20)
        try world.cap("shop", nil, 6, 12)
        try world.cap(nil, "DE", 4, 10)
        world.start()
        try world.waitUntilReady()
        for (query, country, hour, day) in [
            ("?app=shop", "DE", 9, 20), ("?app=shop", "de", 9, 20), ("?app=shop&nf=2", "DE", 4, 12),
            ("?app=shop", "FR", 6, 12), ("?app=game", "DE", 4, 10), ("?app=game", "XX", 3, 8),
            ("?app=game&nf=1", "?", 2, 8),
        ] {
            #expect(
                try caps(world, query, country)
                    == #"{"capPerHour":\#(hour),"capPerDay":\#(day),"ttlSec":600}"#)
        }
        #expect(try world.get("/api/ad/freq-cap").status == 400)
        let document = try world.document("/v1/apps/shop")
        #expect(document["caps"]?["per_hour"]?.integer == 6, "of no country in particular")
    }

    @Test func `the country's header has a name of one's own`() throws {
        var settings = ServeSettings()
        settings.countryHeader = "X-Country"
        let world = EdgeWorld(settings: settings)
        try world.cap(nil, "FR", 1, 2)
        world.start()
        try world.waitUntilReady()
        let answer = #"{"capPerHour":1,"capPerDay":2,"ttlSec":600}"#
        #expect(try caps(world, "?app=game", "FR", header: "X-Country") == answer)
        #expect(try caps(world, "?app=game", "FR") != answer)
    }

    @Test func `caps that are set and removed reach a running edge, and change the ETag`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        world.start()
        try world.waitUntilReady()
        let before = try world.get("/v1/apps/shop").headers["ETag"]
        try world.cap(nil, nil, 1, 2)
        try Wait.until { try caps(world, "?app=shop", "DE").contains(#""capPerHour":1,"#) }
        let replica = world.replica()
        replica.start()
        try replica.waitUntilReady()
        let after = try world.get("/v1/apps/shop").headers["ETag"]
        #expect(after != before)
        #expect(try replica.get("/v1/apps/shop").headers["ETag"] == after)
        try world.control(.cap(.fleet, nil))
        try Wait.until { try caps(world, "?app=shop", "DE").contains(#""capPerHour":3,"#) }
    }

    @Test func `a record that is none is counted, and the caps stay`() throws {
        let world = EdgeWorld()
        try world.cap(nil, nil, 1, 2)
        try world.append(control: Array(#"{"v":1,"type":"cap","app":"*","per_hour":-1}"#.utf8))
        try world.append(control: nil)
        try world.append(control: Array("no JSON".utf8))
        world.start()
        try world.waitUntilReady()
        #expect(try caps(world, "?app=shop", "DE").contains(#""capPerHour":1,"#))
        let series =
            #"adbrake_serve_rejected_total{topic="control",reason="bad_field"}"#
        try Wait.until { world.metric(series) == 3 }
    }

    @Test func `a state held by a person says who, why and until when`() throws {
        let world = EdgeWorld()
        var record = world.throttleRecord("shop", .halt, revision: 2)
        record.change.cause = .override
        record.change.computed = .normal
        record.change.override = Override(
            app: nil, mode: .pin, state: .halt, reason: "SDK 9 \"burns\"", by: "anna",
            expiresAt: 1_900_000_000_000, number: 7)
        try world.append(.throttle, app: "shop", record.encode())
        world.start()
        try world.waitUntilReady()
        for target in ["/v1/apps/shop", "/v1/apps"] {
            let answer = try world.document(target)
            let document = answer["apps"]?.array?.first ?? answer
            let held = try #require(document["override"])
            #expect(document["cause"]?.text == "override")
            #expect(held["by"]?.text == "anna")
            #expect(held["reason"]?.text == "SDK 9 \"burns\"")
            #expect(held["expires_at"]?.integer == 1_900_000_000_000)
            #expect(held["app"]?.text == "*")
            #expect(held["computed"]?.text == "Normal")
        }
    }
}

extension EdgeWorld {
    func control(_ content: ControlRecord.Content) throws {
        let record = ControlRecord(content, by: "anna", at: time.now, reason: "a test")
        try append(control: record.encode())
    }

    func append(control value: [UInt8]?) throws {
        try memory.append([.init(.control, partition: 0, key: nil, value: value)])
    }

    func cap(_ app: String?, _ country: String?, _ perHour: Int, _ perDay: Int) throws {
        let place = CapPlace(
            app: app.flatMap { AppID($0) }, country: country.flatMap { CountryCode($0) })
        try control(.cap(place, FrequencyCaps(perHour: perHour, perDay: perDay)))
    }
}
