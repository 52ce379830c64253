// The edge behind the proxies of Debian, with the configuration files that we hand out.
import BrakeModel
import Foundation
import HTTPServer
import Runtime
import Serve
import Testing

@Suite final class ProxyTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-proxy-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Two edges over one log, and a proxy before them.
    private final class Chain {
        let world: EdgeWorld
        let replica: EdgeWorld
        var edges: [HTTPListener]
        let port: UInt16
        private var proxy: RunningProgram?

        init() throws {
            var settings = ServeSettings()
            // Fresh for a second, so that a test sees it grow stale.
            settings.ttlSeconds = 1
            world = EdgeWorld(settings: settings)
            replica = world.replica(settings: settings)
            for app in ["shop", "game"] { try world.throttle(app, .halt, revision: 1) }
            try world.epoch(1)
            world.start()
            replica.start()
            try world.waitUntilReady()
            try replica.waitUntilReady()
            edges = try [world, replica].map { try $0.listen() }
            port = try FreePort.find()
        }

        func start(_ words: [String], folder: URL) throws {
            let proxy = try RunningProgram(words, folder: folder)
            self.proxy = proxy
            try Wait.until { WireClient.isListening(port: self.port) }
        }

        func stop() {
            proxy?.stop()
            for edge in edges { edge.stop() }
        }

        func get(_ target: String, _ headers: [String] = []) throws -> WireClient.Answer {
            try WireClient(port: port).send("GET", target, headers)
        }
    }

    private func text(of path: String) throws -> String {
        try String(contentsOfFile: OutsideProgram.root + path, encoding: .utf8)
    }

    private func startNginx(_ chain: Chain) throws {
        let nginx = try #require(OutsideProgram.path(of: "nginx"))
        let cache = folder.path() + "/cache"
        let site = try text(of: "ops/nginx/adbrake.conf")
            .replacing("listen 80;", with: "listen 127.0.0.1:\(chain.port);")
            .replacing("127.0.0.1:8083", with: "127.0.0.1:\(chain.edges[0].port)")
            .replacing("127.0.0.1:8084", with: "127.0.0.1:\(chain.edges[1].port)")
            .replacing("/var/cache/nginx/adbrake", with: cache)
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.path())/\($0);" }.joined()
        // As the distribution's own file around it, but for this user and this folder.
        let whole = """
            daemon off; user root; pid \(folder.path())/pid; error_log stderr;
            events { worker_connections 512; }
            http { access_log off; \(places)
            \(site)
            }
            """
        let file = folder.appendingPathComponent("nginx.conf")
        try whole.write(to: file, atomically: true, encoding: .utf8)
        try chain.start(
            [nginx, "-e", "stderr", "-p", folder.path(), "-c", file.path()], folder: folder)
    }

    private static let hasNginx = OutsideProgram.path(of: "nginx") != nil
    private static let hasCaddy = OutsideProgram.path(of: "caddy") != nil

    @Test(.enabled("nginx is not installed") { ProxyTests.hasNginx })
    func `nginx keeps answers, renews them by their tags, and has them when no edge is left`()
        throws
    {
        let chain = try Chain()
        defer { chain.stop() }
        try startNginx(chain)
        let first = try chain.get("/v1/apps/shop")
        #expect(first.status == 200)
        #expect(first["X-Cache"] == "MISS")
        let tag = try #require(first["ETag"])
        let second = try chain.get("/v1/apps/shop")
        #expect(["HIT", "UPDATING", "STALE", "REVALIDATED"].contains(second["X-Cache"]))
        #expect(second.body == first.body)
        let unchanged = try chain.get("/v1/apps/shop", ["If-None-Match: \(tag)"])
        #expect(unchanged.status == 304)
        #expect(unchanged["ETag"] == tag)
        // Only apps' answers are for the world.
        for target in ["/", "/metrics", "/readyz", "/v1/notices"] {
            #expect(try chain.get(target).status == 404, "\(target)")
        }
        #expect(try chain.get("/api/ad/freq-cap?app=shop").status == 200)
        // A change reaches those who ask through the cache.
        try chain.world.throttle("shop", .caution, revision: 2)
        try Wait.until {
            String(decoding: try chain.get("/v1/apps/shop").body, as: UTF8.self).contains("Caution")
        }
        // One edge is gone: nobody notices, also of what is in no cache.
        chain.edges[0].stop()
        for index in 0..<4 { #expect(try chain.get("/v1/apps/new-\(index)").status == 200) }
        // Both are gone: what was known holds for the time that its answer allows.
        chain.edges[1].stop()
        try Wait.until {
            let answer = try chain.get("/v1/apps/shop")
            #expect(answer.status == 200)
            #expect(answer["Cache-Control"]?.contains("stale-if-error=900") == true)
            return answer["X-Cache"] == "STALE"
        }
        #expect(try chain.get("/v1/apps/never-asked").status >= 502)
    }

    @Test(.enabled("nginx is not installed") { ProxyTests.hasNginx })
    func `nginx hands the stream on as it comes`() throws {
        let chain = try Chain()
        defer { chain.stop() }
        try startNginx(chain)
        try checkStream(chain)
    }

    @Test(.enabled("caddy is not installed") { ProxyTests.hasCaddy })
    func `Caddy asks the other edge, and hands the stream on as it comes`() throws {
        let chain = try Chain()
        defer { chain.stop() }
        let caddy = try #require(OutsideProgram.path(of: "caddy"))
        let site = try text(of: "ops/caddy/Caddyfile")
            .replacing("ads.example.com {", with: "http://:\(chain.port) {\n\tbind 127.0.0.1")
            .replacing("127.0.0.1:8083", with: "127.0.0.1:\(chain.edges[0].port)")
            .replacing("127.0.0.1:8084", with: "127.0.0.1:\(chain.edges[1].port)")
        let file = folder.appendingPathComponent("Caddyfile")
        try ("{\n\tadmin off\n}\n" + site).write(to: file, atomically: true, encoding: .utf8)
        let places = ["XDG_DATA_HOME", "XDG_CONFIG_HOME"].map { "\($0)=\(folder.path())" }
        try chain.start(
            ["env"] + places
                + [caddy, "run", "--adapter", "caddyfile", "--config", file.path()],
            folder: folder)
        let first = try chain.get("/v1/apps/shop")
        let tag = try #require(first["ETag"])
        #expect(try chain.get("/v1/apps/shop", ["If-None-Match: \(tag)"]).status == 304)
        for target in ["/", "/metrics", "/readyz", "/v1/notices"] {
            #expect(try chain.get(target).status == 404, "\(target)")
        }
        try checkStream(chain)
        chain.edges[0].stop()
        for _ in 0..<4 { #expect(try chain.get("/v1/apps/shop").status == 200) }
    }

    /// Every change arrives though the stream goes on, and nothing is kept back with it.
    private func checkStream(_ chain: Chain) throws {
        let client = try StreamClient(port: chain.port)
        #expect(client.status == 200)
        _ = try client.next("reset")
        for revision in 2..<6 {
            try chain.world.throttle(
                "game", revision % 2 == 0 ? .caution : .halt, revision: Int64(revision))
            let event = try client.next("throttle")
            // Those of the start come first.
            if event.data?.contains("\"revision\":\(revision)") != true {
                try Wait.until {
                    try client.next("throttle").data?.contains("\"revision\":\(revision)") == true
                }
            }
        }
    }
}
