// HTTP caching of app documents: validators that tell states apart, and 304 only for who asked.
import BrakeModel
import HTTPServer
import Serve
import Testing

@Suite struct CachingTests {
    private func tag(_ world: EdgeWorld, _ app: String = "shop") throws -> String {
        try #require(try world.get("/v1/apps/\(app)").headers["ETag"])
    }

    @Test func `a change of state changes the tag, the passing of time does not`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        let first = try tag(world)
        #expect(first.hasPrefix("W/\""))
        world.time.pass(milliseconds: 2_000)
        #expect(try tag(world) == first)
        try world.throttle("shop", .halt, revision: 2)
        try Wait.until { try world.state(of: "shop") == "Halt rule" }
        let second = try tag(world)
        #expect(second != first)
        // Stale is news to a client, though the state is the same.
        world.time.pass(milliseconds: 20_000)
        #expect(try tag(world) != second)
    }

    @Test func `two replicas, and one started later, have the same tag`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .throttle, revision: 3)
        try world.epoch(1)
        let replica = world.replica()
        world.start()
        replica.start()
        try world.waitUntilReady()
        try replica.waitUntilReady()
        #expect(try tag(world) == tag(replica))
        world.time.pass(milliseconds: 3_000)
        let late = world.replica()
        late.start()
        try late.waitUntilReady()
        #expect(try tag(world) == tag(late))
        #expect(try tag(world, "nobody") == tag(late, "nobody"))
    }

    @Test func `a held tag is answered by 304 with its tag and its freshness`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        world.start()
        try world.waitUntilReady()
        let tag = try tag(world)
        let strong = String(tag.dropFirst(2))
        for held in [tag, strong, "\"x\", \(tag)", "W/\"y\",\(strong) , \"z\"", "*"] {
            let response = try world.get("/v1/apps/shop", [("If-None-Match", held)])
            #expect(response.status == 304, "\(held)")
            #expect(response.bytes.isEmpty)
            #expect(response.headers["ETag"] == tag)
            let freshness = try #require(response.headers["Cache-Control"])
            for directive in ["max-age=15", "stale-while-revalidate=", "stale-if-error=900"] {
                #expect(freshness.contains(directive))
            }
        }
        for other in ["\"x\"", "", strong.replacing("\"", with: ""), "W/\"\"", "undefined"] {
            #expect(try world.get("/v1/apps/shop", [("If-None-Match", other)]).status == 200)
        }
        // In two fields, as a proxy may send them.
        let split = [("If-None-Match", "\"x\""), ("If-None-Match", tag)]
        #expect(try world.get("/v1/apps/shop", split).status == 304)
    }

    @Test(arguments: ["/v1/apps/shop", "/v1/apps", "/v1/changes", "/api/ad/freq-cap?app=shop"])
    func `nobody is told "unchanged" without a validator, not even by an empty edge`(
        _ target: String
    ) throws {
        let world = EdgeWorld()
        #expect(try world.get(target).status == 200)
        world.start()
        try world.waitUntilReady()
        #expect(try world.get(target).status == 200)
    }

    @Test func `what may be wrong by the next moment is not kept by caches`() throws {
        let world = EdgeWorld()
        let before = try world.get("/v1/apps/shop").headers["Cache-Control"]
        #expect(before?.contains("max-age=1,") == true)
        #expect(before?.contains("stale-if-error=1") == true)
    }

    @Test func `errors and the unready are never taken for a validated answer`() throws {
        let world = EdgeWorld()
        #expect(try world.get("/v1/apps/a%20b", [("If-None-Match", "*")]).status == 400)
        #expect(try world.get("/readyz", [("If-None-Match", "*")]).status == 503)
    }

    @Test func `the fleet and caps have validators, too, which change with what they tell`() throws
    {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        try world.epoch(1)
        let replica = world.replica()
        world.start()
        replica.start()
        try world.waitUntilReady()
        try replica.waitUntilReady()
        for target in ["/v1/apps", "/v1/apps?limit=1", "/api/ad/freq-cap?app=shop&nf=1"] {
            let tag = try #require(try world.get(target).headers["ETag"])
            world.time.pass(milliseconds: 100)
            #expect(try replica.get(target).headers["ETag"] == tag)
            let unchanged = try world.get(target, [("If-None-Match", tag)])
            #expect(unchanged.status == 304)
            #expect(unchanged.bytes.isEmpty)
            #expect(unchanged.headers["ETag"] == tag)
            #expect(unchanged.headers["Cache-Control"]?.contains("no-cache") == true)
            #expect(try world.get(target, [("If-None-Match", "\"x\"")]).status == 200)
        }
        let before = try ["/v1/apps", "/api/ad/freq-cap?app=shop"].map {
            try #require(try world.get($0).headers["ETag"])
        }
        try world.throttle("shop", .halt, revision: 2)
        try Wait.until { try world.state(of: "shop") == "Halt rule" }
        #expect(try world.get("/v1/apps", [("If-None-Match", before[0])]).status == 200)
        #expect(
            try world.get("/api/ad/freq-cap?app=shop", [("If-None-Match", before[1])]).status == 200
        )
    }

    @Test(arguments: ["/v1/apps/a%20b", "/nothing", "/v1/apps?limit=x"])
    func `what is refused is not to be kept by caches`(_ target: String) throws {
        #expect(try EdgeWorld().get(target).headers["Cache-Control"] == "no-store")
    }
}
