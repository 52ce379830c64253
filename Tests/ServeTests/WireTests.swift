// The edge over a real socket, as proxies and apps meet it: HEAD, kept connections, gzip, refusals.
import BrakeModel
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
        let listener = HTTPListener(
            "edge", HTTPListener.Settings(address: try #require(ListenAddress("127.0.0.1:0"))),
            router: world.router, log: Logger(part: "test", to: world.sink),
            metrics: world.metrics)
        try listener.start()
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
        ("POST", "/v1/apps/app-1", 405), ("DELETE", "/v1/apps", 405), ("BREW", "/v1/apps", 501),
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
}
