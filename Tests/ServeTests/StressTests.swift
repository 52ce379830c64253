// Caps that the evaluator tightens where ads annoy: as every edge hands them out, by country.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Serve
import Testing

@Suite struct StressTests {
    private func cap(_ world: EdgeWorld, _ country: String, nf: Int = 0) throws -> Int64? {
        let query = "/api/ad/freq-cap?app=shop&nf=\(nf)"
        return try world.document(query, [("CF-IPCountry", country)])["capPerHour"]?.integer
    }

    /// Annoyed in Germany, a little in all.
    private func world() throws -> EdgeWorld {
        let world = EdgeWorld()
        try world.cap("shop", nil, 10, 20)
        try world.throttle("shop", .normal, revision: 1)
        try world.epoch(1)
        try world.stress("shop", all: 1, [("DE", 2), ("FR", 0)])
        world.start()
        try world.waitUntilReady()
        return world
    }

    @Test func `caps are tightened by country, and never looser than a person's own`() throws {
        let world = try world()
        #expect(try cap(world, "DE") == 5)
        #expect(try cap(world, "FR") == 10)
        #expect(try cap(world, "US") == 9, "a country that is not told is as all together")
        #expect(try cap(world, "?") == 9)
        #expect(try cap(world, "FR", nf: 2) == 5)
        #expect(try cap(world, "DE", nf: 1) == 5)
        let context = #"{"context":{"app":"shop","targetingKey":"d","country":"DE"}}"#
        let flag = try world.post("/ofrep/v1/evaluate/flags/ad_caps", context)
        #expect(String(decoding: flag.bytes, as: UTF8.self).contains(#""per_hour":5"#))
        let document = try world.document("/v1/apps/shop")
        #expect(document["caps"]?["per_hour"]?.integer == 9)
    }

    @Test func `the fleet tells the index, and its tag changes with it, the same on replicas`()
        throws
    {
        let world = try world()
        let stress = try #require(
            try world.document("/v1/apps")["apps"]?.array?.first?["stress"])
        #expect(stress["all"]?["hour"]?["per_1000"]?.number == 20)
        #expect(stress["countries"]?.array?.first?["country"]?.text == "DE")
        let before = try world.get("/v1/apps").headers["ETag"]
        let replica = world.replica()
        replica.start()
        try replica.waitUntilReady()
        #expect(try replica.get("/v1/apps").headers["ETag"] == before)
        world.time.pass(milliseconds: 60_000)
        try world.epoch(2)
        try world.stress("shop", all: 0, [])
        try Wait.until { try cap(world, "DE") == 10 }
        #expect(try world.get("/v1/apps").headers["ETag"] != before)
    }

    @Test func `a deletion, and a record that nobody looks after any more, count no more`() throws {
        let world = try world()
        world.time.pass(milliseconds: 7_200_000)
        #expect(try cap(world, "DE") == 5, "an outage does not loosen what was tightened")
        try world.epoch(2)
        #expect(try cap(world, "DE") == 5)
        world.time.pass(milliseconds: 1)
        try world.epoch(3)
        try Wait.until { try cap(world, "DE") == 10 }
        try world.stress("shop", all: 2, [])
        try Wait.until { try cap(world, "DE") == 5 }
        try world.append(.stress, app: "shop", nil)
        try Wait.until { try cap(world, "DE") == 10 }
    }

    @Test func `records that are none, or older, are metered and change nothing`() throws {
        let world = try world()
        world.time.pass(milliseconds: -60_000)
        try world.stress("shop", all: 0, [])
        world.time.pass(milliseconds: 60_000)
        try world.append(.stress, app: "shop", Array("{}".utf8))
        try world.append(.stress, app: "a b", Array("{}".utf8))
        let rejected = #"adbrake_serve_rejected_total{topic="stress",reason="#
        try Wait.until { world.metric(rejected + #""bad_app"}"#) == 1 }
        #expect(world.metric(#"adbrake_serve_older_total{topic="stress"}"#) == 1)
        #expect(try cap(world, "DE") == 5)
    }
}

extension EdgeWorld {
    /// How caps are tightened, in all countries and in some.
    func stress(_ app: String, all: Int, _ countries: [(code: String, nonFatals: Int)]) throws {
        var hour = StressCounts()
        hour.impressions = 1_000
        hour.signals = 20
        func place(_ country: String?, _ nonFatals: Int) -> StressPlace {
            StressPlace(
                country: country.flatMap { CountryCode($0) }, hour: hour, day: hour,
                nonFatals: nonFatals, rule: nonFatals > 0 ? "annoyed" : nil)
        }
        let index = StressIndex(
            app: try #require(AppID(app)), clock: time.now, all: place(nil, all),
            countries: countries.map { place($0.code, $0.nonFatals) })
        let record = StressRecord(index: index, partition: partition(of: app), epoch: 1)
        try append(.stress, app: app, record.encode())
    }
}
