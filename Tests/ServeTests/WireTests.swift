// The edge over a real socket, as proxies and apps meet it: HEAD, kept connections, gzip, refusals.
import BrakeModel
import BrakeWire
import HTTPServer
import Runtime
import Serve
import Testing

@Suite struct WireTests {
    private func serving(_ body: (EdgeWorld, WireClient) throws -> Void) throws {
        let world = EdgeWorld()
        for index in 0..<20 { try world.throttle("app-\(index)", .halt, revision: 1) }
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        let listener = try world.listen()
        defer { listener.stop() }
        try body(world, try WireClient(port: listener.port))
    }

    @Test(arguments: [
        "/v1/apps/app-1", "/v1/apps", "/api/ad/freq-cap?app=app-1", "/readyz", "/v1/changes",
    ])
    func `HEAD tells what GET would, on one connection that is kept`(_ target: String) throws {
        try serving { _, client in
            for _ in 0..<3 {
                let head = try client.send("HEAD", target)
                let get = try client.send("GET", target)
                #expect(get.status == 200 && head.status == 200)
                #expect(head.body.isEmpty)
                #expect(head["Content-Length"] == String(get.body.count))
                for name in ["ETag", "Cache-Control", "Content-Type", "Vary"] {
                    #expect(head[name] == get[name], "\(name)")
                }
            }
        }
    }

    @Test func `304 has no body, and the connection goes on`() throws {
        try serving { world, client in
            let first = try client.send("GET", "/v1/apps/app-1")
            let tag = try #require(first["ETag"])
            for _ in 0..<3 {
                let again = try client.send("GET", "/v1/apps/app-1", ["If-None-Match: \(tag)"])
                #expect(again.status == 304)
                #expect(again.body.isEmpty)
                #expect(again["ETag"] == tag)
                #expect(again["Cache-Control"] == first["Cache-Control"])
            }
            try world.throttle("app-1", .throttle, revision: 2)
            try Wait.until { try world.state(of: "app-1") == "Throttle rule" }
            let changed = try client.send("GET", "/v1/apps/app-1", ["If-None-Match: \(tag)"])
            #expect(changed.status == 200)
            #expect(changed["ETag"] != tag)
        }
    }

    @Test func `the fleet comes compressed to who asks, under the same weak tag`() throws {
        try serving { _, client in
            let plain = try client.send("GET", "/v1/apps")
            let small = try client.send("GET", "/v1/apps", ["Accept-Encoding: gzip"])
            #expect(small["Content-Encoding"] == "gzip")
            #expect(small["Vary"] == "Accept-Encoding")
            #expect(plain["Vary"] == "Accept-Encoding")
            #expect(small.body.count < plain.body.count / 4)
            #expect(small["ETag"] == plain["ETag"])
            let tag = try #require(small["ETag"])
            for encoding in ["gzip", "identity"] {
                let again = try client.send(
                    "GET", "/v1/apps", ["Accept-Encoding: \(encoding)", "If-None-Match: \(tag)"])
                #expect(again.status == 304)
            }
            #expect(try Gzip.decoded(small.body, bytesMax: 1 << 20) == plain.body)
        }
    }

    @Test(arguments: [
        ("GET", "/v1/apps/a%20b", 400), ("GET", "/v1/apps/%ff", 400), ("GET", "/v1/app", 404),
        ("POST", "/v1/apps/app-1", 405), ("DELETE", "/v1/apps", 405), ("BREW", "/v1/apps", 405),
        ("GET", "/v1/apps?limit=0", 400), ("GET", "/api/ad/freq-cap", 400),
    ])
    func `what is wrong is answered as HTTP has it, and not kept`(
        _ method: String, _ target: String, _ status: Int
    ) throws {
        try serving { _, client in
            let answer = try client.send(method, target)
            #expect(answer.status == status)
            #expect(answer["Cache-Control"] == "no-store")
            #expect(String(decoding: answer.body, as: UTF8.self).contains("\"hint\":"))
            if status == 405 { #expect(answer["Allow"] == "GET, HEAD, OPTIONS") }
        }
    }

    @Test func `answers that are given again are never behind a change, and all are counted`()
        throws
    {
        try serving { world, client in
            var tags: [String] = []
            for revision in 2..<40 {
                try world.throttle(
                    "app-1", ThrottleState.allCases[revision % 4], revision: Int64(revision))
                try Wait.until {
                    try world.document("/v1/apps/app-1")["revision"]?.integer == Int64(revision)
                }
                for _ in 0..<3 {
                    let answer = try client.send("GET", "/v1/apps/app-1")
                    let text = String(decoding: answer.body, as: UTF8.self)
                    #expect(text.contains("\"revision\":\(revision),"))
                    tags.append(try #require(answer["ETag"]))
                }
                let held = ["If-None-Match: \(tags[tags.count - 1])"]
                #expect(try client.send("GET", "/v1/apps/app-1", held).status == 304)
                #expect(try client.send("HEAD", "/v1/apps/app-1").status == 200)
                let older = ["If-None-Match: \(tags[0])"]
                let status = try client.send("GET", "/v1/apps/app-1", older).status
                #expect(status == (revision == 2 ? 304 : 200))
            }
            #expect(Set(tags).count == 38)
            let series = "adbrake_http_requests_total{listener=\"edge\",route=\"/v1/apps/{app}\","
            let whole = world.metric(series + "status=\"200\"}")
            let unchanged = world.metric(series + "status=\"304\"}")
            #expect(whole == 38 * 4 + 37)
            #expect(unchanged == 39)
        }
    }
}
