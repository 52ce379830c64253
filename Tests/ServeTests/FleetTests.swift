// The fleet in pages, the recent past, and caps by country, through the router.
import BrakeModel
import BrakeWire
import HTTPServer
import Serve
import Testing

@Suite struct FleetTests {
    private func apps(_ document: JSONValue) -> [String] {
        (document["apps"]?.array ?? []).compactMap { $0["app"]?.text }
    }

    @Test func `pages give every app once and in order, whatever its partition`() throws {
        let world = EdgeWorld()
        let names = (0..<257).map { "app-\($0)" }
        for (index, name) in names.enumerated() {
            try world.throttle(name, ThrottleState.allCases[index % 4], revision: 1)
        }
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        for limit in [1, 7, 128, 256, 257, 1_000] {
            var seen: [String] = []
            var after: String? = ""
            while let start = after {
                let page = try world.document("/v1/apps?limit=\(limit)&after=\(start)")
                #expect(apps(page).count <= limit)
                seen += apps(page)
                after = page["next"]?.text
            }
            #expect(seen == names.sorted(), "limit \(limit)")
        }
        let halted = try world.document("/v1/apps?state=Halt&limit=1000")
        #expect(apps(halted).count == 64)
        #expect(halted["apps"]?.array?.allSatisfy { $0["state"]?.text == "Halt" } == true)
        #expect(halted["counts"]?["Normal"]?.integer == 65)
        #expect(halted["counts"]?["Halt"]?.integer == 64)
        // Behind a name that is no app of the table.
        #expect(apps(try world.document("/v1/apps?after=app-10~&limit=2")).isEmpty)
        #expect(
            apps(try world.document("/v1/apps?after=app-100-&limit=2")) == ["app-101", "app-102"])
    }

    @Test func `each app of the fleet comes with its reason and its policy`() throws {
        let world = EdgeWorld()
        try world.throttle("shop", .halt, revision: 1)
        world.start()
        try world.waitUntilReady()
        let app = try #require(try world.document("/v1/apps")["apps"]?.array?.first)
        #expect(app["policy"]?.text == "default")
        #expect(app["why"]?["rule"]?.text == "halt-60")
        #expect(app["why"]?["windows"]?.array?.count == 3)
        #expect(app["caps"]?["per_day"]?.integer == 8)
    }

    @Test func `expired apps are counted and filtered as what they are served as`() throws {
        let world = EdgeWorld()
        try world.throttle("n", .normal, revision: 1)
        try world.throttle("h", .halt, revision: 1)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        world.time.pass(milliseconds: 900_001)
        let page = try world.document("/v1/apps?state=Caution")
        #expect(apps(page) == ["n"])
        #expect(page["counts"]?["Caution"]?.integer == 1)
        #expect(page["counts"]?["Normal"]?.integer == 0)
    }

    @Test(arguments: [
        "/v1/apps?state=Emergency", "/v1/apps?limit=0", "/v1/apps?limit=-1", "/v1/apps?limit=x",
        "/v1/apps?after=a%20b", "/v1/changes?limit=x", "/v1/notices?limit=0",
        "/v1/stream?app=a%20b", "/v1/stream?app=,",
    ])
    func `what cannot be meant is refused with a hint`(_ target: String) throws {
        let response = try EdgeWorld().get(target)
        #expect(response.status == 400)
        #expect(String(decoding: response.bytes, as: UTF8.self).contains("hint"))
    }

    @Test func `changes and notices are told newest first, and bounded`() throws {
        let world = EdgeWorld()
        world.start()
        try world.waitUntilReady()
        try world.throttle("shop", .caution, revision: 1)
        try world.throttle("shop", .halt, revision: 2)
        for index in 1...300 { try world.notice("notice \(index)", app: "shop") }
        try Wait.until {
            try world.document("/v1/notices?limit=1")["notices"]?.array?.first?["text"]?.text
                == "notice 300"
        }
        #expect(try world.document("/v1/notices")["notices"]?.array?.count == 200)
        try Wait.until {
            try world.document("/v1/changes")["changes"]?.array?.count == 2
        }
        let changes = try #require(try world.document("/v1/changes")["changes"]?.array)
        #expect(changes[0]["state"]?.text == "Halt")
        #expect(changes[0]["from"]?.text == "Caution")
        #expect(changes[1]["from"] == nil)
        #expect(try world.document("/v1/changes?limit=1")["changes"]?.array?.count == 1)
    }

    @Test func `after a start the table's own changes are the recent past`() throws {
        let world = EdgeWorld()
        for index in 0..<5 {
            try world.throttle("app-\(index)", .halt, revision: 1)
            world.time.pass(milliseconds: 1_000)
        }
        try world.notice("before the start")
        world.start()
        try world.waitUntilReady()
        let changes = try #require(try world.document("/v1/changes")["changes"]?.array)
        #expect(changes.compactMap { $0["app"]?.text } == (0..<5).reversed().map { "app-\($0)" })
        try Wait.until {
            try world.document("/v1/notices")["notices"]?.array?.count == 1
        }
    }

    @Test(
        arguments: [(.normal, 3), (.caution, 3), (.throttle, 0), (.halt, 0)]
            as [(ThrottleState, Int64)])
    func `Throttle and Halt leave no caps`(_ state: ThrottleState, _ perHour: Int64) throws {
        let world = EdgeWorld()
        try world.throttle("shop", state, revision: 1)
        world.start()
        try world.waitUntilReady()
        let document = try world.document("/api/ad/freq-cap?app=shop")
        #expect(document["capPerHour"]?.integer == perHour)
        #expect(document.fields?.count == 3)
    }
}
