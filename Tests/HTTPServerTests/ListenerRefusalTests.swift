// What a listener turns away before a handler sees it, each with its reason in the metrics.
import Runtime
import Testing

@testable import HTTPServer

@Suite struct ListenerRefusalTests {
    /// Waits until the refusals for a reason have come to a number.
    static func count(
        _ reason: String, route: String = "none", reaches number: Int, _ metrics: Metrics
    ) -> Bool {
        let line =
            "adbrake_http_refusals_total{listener=\"test\",route=\"\(route)\","
            + "reason=\"\(reason)\"} \(number)\n"
        let pause = StopSignal()
        for _ in 0..<1_000 {
            if metrics.rendered().contains(line) { return true }
            pause.wait(milliseconds: 20)
        }
        return false
    }

    @Test func `Requests that are none, or come apart, are counted by reason`() throws {
        let metrics = Metrics()
        // In a pool the library does not see the end of what a client says until it says more.
        let listener = try ListenerTests.start(metrics: metrics) { $0.threads = .perConnection }
        defer { listener.stop() }
        func client(_ text: String) throws {
            let client = try Client(port: listener.port)
            client.send(text)
            client.endSending()
            #expect(client.isClosedByServer())
        }
        try client("\u{16}\u{3}\u{1} no HTTP at all\r\n\r\n")
        #expect(Self.count("no_request", reaches: 1, metrics))
        try client("GET /hello/x HTTP/1.1\r\nHost: te")
        #expect(Self.count("headers", reaches: 1, metrics))
        let flood = (0..<5_000).map { "X-\($0): \($0)\r\n" }.joined()
        try client("GET /hello/x HTTP/1.1\r\nHost: test\r\n\(flood)\r\n")
        #expect(Self.count("headers", reaches: 2, metrics))
        try client("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
        #expect(Self.count("aborted", reaches: 1, metrics))
        try client(
            "POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n")
        #expect(Self.count("framing", reaches: 1, metrics))
        try client("GET /nothing HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(Self.count("path", reaches: 1, metrics))
        try client("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 900000\r\n\r\n")
        #expect(Self.count("too_large", route: "/count", reaches: 1, metrics))
    }

    @Test func `Who sends too slowly is counted as that and as nothing else`() throws {
        let metrics = Metrics()
        let listener = try ListenerTests.start(metrics: metrics) { $0.receiveSeconds = 1 }
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
        #expect(client.isClosedByServer())
        #expect(Self.count("slow", reaches: 1, metrics))
        #expect(!metrics.rendered().contains("aborted"))
    }

    @Test func `Connections beyond the limits are turned away, and counted`() throws {
        let metrics = Metrics()
        let listener = try ListenerTests.start(metrics: metrics) {
            $0.connectionsMax = 3
            $0.threads = .perConnection
        }
        defer { listener.stop() }
        var clients = try (0..<3).map { _ in try Client(port: listener.port) }
        for client in clients { #expect(try client.get("/hello/x").status == 200) }
        #expect(try Client(port: listener.port).isClosedByServer())
        #expect(Self.count("connections", reaches: 1, metrics))
        clients.removeLast()
        let pause = StopSignal()
        while listener.connections.count == 3 { pause.wait(milliseconds: 10) }
        #expect(try Client(port: listener.port).get("/hello/x").status == 200)
    }

    @Test func `Bodies of all requests together are bounded, and what they took comes back`()
        throws
    {
        let metrics = Metrics()
        let listener = try ListenerTests.start(metrics: metrics) {
            $0.bodyBytesTotalMax = 100_000
            $0.threads = .perConnection
        }
        defer { listener.stop() }
        let slow = try Client(port: listener.port)
        let body = [UInt8](repeating: 65, count: 80_000)
        slow.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 80001\r\n\r\n")
        slow.send(body)
        let pause = StopSignal()
        // Before that, it would be the other that takes the room.
        for _ in 0..<1_000 where listener.bodies.lentBytes < body.count {
            pause.wait(milliseconds: 10)
        }
        #expect(listener.bodies.lentBytes >= body.count)
        let answer = try Client(port: listener.port).post("/count", body)
        #expect(answer.status == 503)
        #expect(answer.headers["Retry-After"] == "1")
        #expect(Self.count("bodies", route: "/count", reaches: 1, metrics))
        slow.send([65])
        #expect(try slow.answer().text == "80001")
        for _ in 0..<5 {
            // It comes back when the request is over, which its client may know before.
            while listener.bodies.lentBytes > 0 { pause.wait(milliseconds: 10) }
            #expect(try Client(port: listener.port).post("/count", body).text == "80000")
        }
    }

    @Test func `Slow bodies of one address leave room for those of others`() throws {
        let metrics = Metrics()
        let listener = try ListenerTests.start(metrics: metrics) {
            $0.bodyBytesTotalMax = 1_000_000
            $0.bodyBytesPerAddressMax = 100_000
            $0.trustedProxies = ["127.0.0.1"]
            $0.threads = .perConnection
        }
        defer { listener.stop() }
        func send(_ address: String, _ count: Int, of length: Int) throws -> Client {
            let client = try Client(port: listener.port)
            client.send(
                "POST /count HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: \(address)\r\n"
                    + "Content-Length: \(length)\r\n\r\n")
            client.send([UInt8](repeating: 65, count: count))
            return client
        }
        // Two of the same half of an IPv6 address: 110 000 bytes, of which all but one came.
        let slow = try send("2001:db8::1", 60_000, of: 60_001)
        let pause = StopSignal()
        while listener.bodies.lentBytes < 60_000 { pause.wait(milliseconds: 10) }
        let refused = try send("2001:db8::2", 50_000, of: 50_001)
        let answer = try refused.answer()
        #expect(answer.status == 429)
        #expect(answer.headers["Retry-After"] == "1")
        #expect(Self.count("address_bodies", route: "/count", reaches: 1, metrics))
        #expect(try send("2001:db8:0:1::1", 80_000, of: 80_000).answer().text == "80000")
        #expect(try send("10.0.0.1", 80_000, of: 80_000).answer().text == "80000")
        // Complete bodies leave the share, one after another and at once.
        slow.send([65])
        #expect(try slow.answer().text == "60001")
        for _ in 0..<3 {
            #expect(try send("2001:db8::2", 90_000, of: 90_000).answer().text == "90000")
        }
        while listener.bodies.lentBytes > 0 { pause.wait(milliseconds: 10) }
    }

    @Test func `A route may refuse before the body is read`() throws {
        let metrics = Metrics()
        let gated = Route(
            .post, "/gated", bodyBytesMax: 1_000,
            admit: { request in
                request.headers["Key"] == nil
                    ? .error(401, reason: "no_key", "no key", hint: "Send one.") : nil
            }, { .text("\($0.body.count)") })
        let listener = try ListenerTests.start(metrics: metrics, more: [gated])
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /gated HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
        #expect(try client.answer().status == 401, "with nothing of the body sent")
        #expect(Self.count("no_key", route: "/gated", reaches: 1, metrics))
        let other = try Client(port: listener.port)
        #expect(try other.post("/gated", [1, 2], "Key: k\r\n").text == "2")
    }

    // MARK: Addresses and sites

    @Test func `Forwarded addresses are believed of trusted proxies only`() throws {
        func client(_ peer: String, _ chain: String) -> String {
            ClientAddress.client(
                peer: peer, Headers([("X-Forwarded-For", chain)]),
                trusted: ["10.0.0.1", "10.0.0.2"]
            )
        }
        #expect(client("10.0.0.1", "6.6.6.6, 192.0.2.7") == "192.0.2.7")
        #expect(client("10.0.0.1", "192.0.2.7, 10.0.0.2") == "192.0.2.7")
        #expect(client("192.0.2.9", "192.0.2.7") == "192.0.2.9")
        #expect(client("10.0.0.1", "192.0.2.7, unknown") == "10.0.0.1")
        #expect(client("10.0.0.1", "192.0.2.7, ::ffff:10.0.0.2") == "192.0.2.7")
        #expect(client("10.0.0.1", "") == "10.0.0.1")
        // A proxy whose connections come through a socket of IPv6 is the same proxy.
        #expect(ClientAddress.unmapped("::ffff:10.0.0.1") == "10.0.0.1")
        #expect(ClientAddress.unmapped("::1") == "::1")
        #expect(ClientAddress.group("::ffff:192.0.2.7") == "192.0.2.7")
        #expect(ClientAddress.group("2001:db8::1") == ClientAddress.group("2001:db8:0:0:9::2"))
        #expect(ClientAddress.group("2001:db8:1::") != ClientAddress.group("2001:db8::1"))
        let peer = Route(.get, "/peer") { .text($0.remoteAddress) }
        let listener = try ListenerTests.start(more: [peer]) {
            $0.trustedProxies = ["127.0.0.1"]
        }
        defer { listener.stop() }
        let answer = try Client(port: listener.port).get(
            "/peer", "X-Forwarded-For: 192.0.2.7\r\n")
        #expect(answer.text == "192.0.2.7")
    }

    private static let api = Route(.post, "/v1/try", bodyBytesMax: 10) { _ in .text("done") }

    @Test func `Pages of other sites may not send unless they are named`() throws {
        let listener = try ListenerTests.start(more: [Self.api])
        defer { listener.stop() }
        let port = listener.port
        let foreign = try Client(port: port).post("/v1/try", [1], "Origin: https://a.example\r\n")
        #expect(foreign.status == 403)
        #expect(foreign.headers["Access-Control-Allow-Origin"] == nil)
        #expect(try Client(port: port).post("/v1/try", [1], "Origin: null\r\n").status == 403)
        let own = try Client(port: port).post("/v1/try", [1], "Origin: http://test\r\n")
        #expect(own.status == 200)
        let client = try Client(port: port)
        client.send(
            "OPTIONS /v1/try HTTP/1.1\r\nHost: test\r\nOrigin: https://a.example\r\n"
                + "Access-Control-Request-Method: POST\r\n\r\n")
        #expect(try client.answer().headers["Access-Control-Allow-Methods"] == nil)
    }

    @Test func `A site that is named is told so before and after`() throws {
        let listener = try ListenerTests.start(more: [Self.api]) {
            $0.crossOrigin = CrossOrigin(["https://a.example"])
        }
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send(
            "OPTIONS /v1/try HTTP/1.1\r\nHost: test\r\nOrigin: https://a.example\r\n"
                + "Access-Control-Request-Method: POST\r\n\r\n")
        let asked = try client.answer()
        #expect(asked.status == 204)
        #expect(asked.headers["Access-Control-Allow-Origin"] == "https://a.example")
        #expect(asked.headers["Access-Control-Allow-Methods"]?.contains("POST") == true)
        let sent = try client.post("/v1/try", [1], "Origin: https://a.example\r\n")
        #expect(sent.status == 200)
        #expect(sent.headers["Access-Control-Allow-Origin"] == "https://a.example")
        #expect(sent.headers["Vary"] == "Origin")
        let other = try Client(port: listener.port).post(
            "/v1/try", [1], "Origin: https://b.example\r\n")
        #expect(other.status == 403)
        // What is not of the API is for no other site.
        let hello = try client.get("/hello/x", "Origin: https://a.example\r\n")
        #expect(hello.headers["Access-Control-Allow-Origin"] == nil)
    }

    @Test func `A cache is told of the site even by an answer to who names none`() throws {
        let listener = try ListenerTests.start(more: [Self.api]) {
            $0.crossOrigin = CrossOrigin(["https://a.example"])
        }
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let plain = try client.post("/v1/try", [1])
        #expect(plain.headers["Vary"] == "Origin")
        #expect(plain.headers["Access-Control-Allow-Origin"] == nil)
        // Which is for no other site, whoever asks.
        #expect(try client.get("/hello/x").headers["Vary"] == nil)
    }

    @Test func `Where every site may ask all are told the same`() throws {
        let listener = try ListenerTests.start(more: [Self.api]) {
            $0.crossOrigin = CrossOrigin(["*"])
        }
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        for headers in ["", "Origin: https://a.example\r\n"] {
            let answer = try client.post("/v1/try", [1], headers)
            #expect(answer.headers["Access-Control-Allow-Origin"] == "*")
            #expect(answer.headers["Vary"] == nil)
        }
    }
}
