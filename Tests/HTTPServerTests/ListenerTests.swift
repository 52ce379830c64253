// The listener over real sockets: framing, limits, slow and rude clients, stopping.
import Runtime
import Testing

@testable import HTTPServer

@Suite struct ListenerTests {
    static let bodyBytesMax = 100_000

    /// A listener with routes to try everything on.
    static func start(
        log: CapturedLog = CapturedLog(), metrics: Metrics = Metrics(),
        more: [Route] = [], _ change: (inout HTTPListener.Settings) -> Void = { _ in }
    ) throws -> HTTPListener {
        var settings = HTTPListener.Settings(address: ListenAddress(host: "127.0.0.1", port: 0))
        change(&settings)
        let routes = [
            Route(.get, "/hello/{name}") { .text("hello \($0.parameter("name"))") },
            Route(.get, "/long") { _ in
                .text(String(repeating: "long ", count: 10_000)).with("ETag", "\"1\"")
            },
            Route(.get, "/unchanged") { _ in Response(304).with("ETag", "\"1\"") },
            Route(.post, "/count", bodyBytesMax: bodyBytesMax) { .text("\($0.body.count)") },
            Route(.post, "/echo", bodyBytesMax: bodyBytesMax) { .json($0.body) },
        ]
        let listener = HTTPListener(
            "test", settings, router: Router(routes + more),
            log: Logger(part: "http", level: .trace, to: log), metrics: metrics)
        try listener.start()
        return listener
    }

    @Test(arguments: [HTTPListener.Settings.Threads.pool(1), .pool(2), .perConnection])
    func `Requests on one connection are answered one after another`(
        threads: HTTPListener.Settings.Threads
    ) throws {
        let listener = try Self.start { $0.threads = threads }
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        for number in 0..<20 {
            #expect(try client.get("/hello/\(number)").text == "hello \(number)")
            #expect(try client.post("/echo", [65, 66]).text == "AB")
        }
    }

    @Test func `Pipelined requests are answered in order`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send(
            (0..<50).map { "GET /hello/\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined()
                + "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nok"
                + "GET /hello/end HTTP/1.1\r\nHost: test\r\n\r\n")
        for number in 0..<50 { #expect(try client.answer().text == "hello \(number)") }
        #expect(try client.answer().text == "ok")
        #expect(try client.answer().text == "hello end")
    }

    @Test func `A client that has said all it will say is answered`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("GET /hello/half HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        client.endSending()
        #expect(try client.answer().text == "hello half")
        #expect(client.isClosedByServer())
    }

    @Test func `HEAD has the length of GET and no body`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("HEAD /hello/head HTTP/1.1\r\nHost: test\r\n\r\n")
        let head = try client.answer(toHead: true)
        #expect(head.status == 200)
        #expect(head.headers["Content-Length"] == "10")
        #expect(try client.get("/hello/after").text == "hello after")
    }

    @Test func `Not modified has no body and the connection goes on`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let answer = try client.get("/unchanged")
        #expect(answer.status == 304)
        #expect(answer.headers["ETag"] == "\"1\"")
        #expect(try client.get("/hello/after").text == "hello after")
    }

    @Test func `Errors are JSON with a hint`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let missing = try client.get("/nothing")
        #expect(missing.status == 404)
        #expect(missing.headers["Content-Type"] == "application/json")
        #expect(missing.text.contains("\"hint\":"))
        let method = try client.get("/count")
        #expect(method.status == 405)
        #expect(method.headers["Allow"] == "POST, OPTIONS")
        #expect(try client.get("/hello/%2e%2e").status == 400)
        #expect(try client.get("/hello/a%2Fb").status == 400)
        // One that nobody knows as well.
        client.send("QUERY /count HTTP/1.1\r\nHost: test\r\n\r\n")
        let unknown = try client.answer()
        #expect(unknown.status == 405)
        #expect(unknown.headers["Allow"] == "POST, OPTIONS")
        client.send("QUERY /nothing HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(try client.answer().status == 404)
    }

    @Test func `Chunked bodies arrive whole`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<100 { client.send("64\r\n" + String(repeating: "x", count: 100) + "\r\n") }
        client.send("0\r\n\r\n")
        #expect(try client.answer().text == "10000")
    }

    @Test(arguments: [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3, 3\r\n", "Content-Length: +3\r\n", "Content-Length: -3\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n",
    ])
    func `A request with two possible ends is refused and the connection closed`(
        headers: String
    ) throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send(
            "POST /count HTTP/1.1\r\nHost: test\r\n\(headers)\r\n0\r\n\r\n"
                + "GET /hello/x HTTP/1.1\r\n\r\n"
        )
        #expect(try client.answer().status == 400)
        #expect(client.isClosedByServer())
    }

    @Test func `A body over the limit is refused before it is read`() throws {
        let metrics = Metrics()
        let listener = try Self.start(metrics: metrics)
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 100001\r\n\r\n")
        let answer = try client.answer()
        #expect(answer.status == 413)
        #expect(answer.text.contains("At most 100000 bytes"))
        #expect(client.isClosedByServer())
        #expect(metrics.rendered().contains(#"{listener="test",route="/count",status="413"} 1"#))
        let exact = try Client(port: listener.port)
        let body = [UInt8](repeating: 1, count: Self.bodyBytesMax)
        #expect(try exact.post("/count", body).text == "100000")
    }

    @Test func `A client that sends a refused body to its end still reads the answer`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let body = [UInt8](repeating: 1, count: 2_000_000)
        #expect(try client.post("/count", body).status == 413)
        #expect(client.isClosedByServer())
    }

    @Test func `A chunked body is refused as soon as it passes the limit`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
        // No end is ever sent: the answer has to come without it.
        for _ in 0..<11 { client.send("2710\r\n" + String(repeating: "x", count: 10_000) + "\r\n") }
        #expect(try client.answer().status == 413)
        #expect(client.isClosedByServer())
    }

    @Test func `A body without end is cut off`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "186a0\r\n" + String(repeating: "x", count: 100_000) + "\r\n"
        var sent = 0
        while sent < 1_000, client.send(chunk) { sent += 1 }
        #expect(sent < 1_000)
    }

    @Test func `A client that asks before it sends is told`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let expect = "Expect: 100-continue\r\n"
        let client = try Client(port: listener.port)
        client.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\(expect)\r\n")
        #expect(try client.answer().status == 100)
        client.send("abc")
        #expect(try client.answer().text == "3")
        let large = try Client(port: listener.port)
        large.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 9999999\r\n\(expect)\r\n")
        #expect(try large.answer().status == 413)
    }

    @Test func `Headers over the limit are refused`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send("GET /hello/a HTTP/1.1\r\nHost: test\r\n")
        client.send("X: " + String(repeating: "x", count: 100_000) + "\r\n\r\n")
        #expect(try client.head() == 431)
        #expect(client.isClosedByServer())
    }

    @Test func `Gzip is understood, a bomb and damage are refused`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let header = "Content-Encoding: gzip\r\n"
        let fitting = [UInt8](repeating: 1, count: Self.bodyBytesMax)
        let good = try #require(Gzip.encoded(fitting))
        #expect(try client.post("/count", good, header).text == "100000")
        let bomb = try #require(Gzip.encoded(fitting + [1]))
        #expect(try client.post("/count", bomb, header).status == 413)
        #expect(try client.post("/count", Array(good.dropLast()), header).status == 400)
        #expect(try client.post("/count", good, "Content-Encoding: x-gzip\r\n").status == 200)
        let other = try client.post("/count", [1], "Content-Encoding: br\r\n")
        #expect(other.status == 415)
        #expect(other.headers["Accept-Encoding"] == "gzip")
    }

    @Test func `Long text is compressed for those who ask`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        let plain = try client.get("/long")
        #expect(plain.headers["Content-Encoding"] == nil)
        #expect(plain.headers["Vary"] == "Accept-Encoding")
        #expect(plain.headers["ETag"] == "\"1\"")
        let small = try client.get("/long", "Accept-Encoding: br;q=1, gzip;q=0.5\r\n")
        #expect(small.headers["Content-Encoding"] == "gzip")
        #expect(small.headers["ETag"] == "W/\"1\"")
        #expect(small.body.count < 1_000)
        #expect(try Gzip.decoded(small.body, bytesMax: 1 << 20) == plain.body)
        let refused = try client.get("/long", "Accept-Encoding: gzip;q=0\r\n")
        #expect(refused.headers["Content-Encoding"] == nil)
        let short = try client.get("/hello/a", "Accept-Encoding: gzip\r\n")
        #expect(short.headers["Content-Encoding"] == nil)
    }

    @Test func `Addresses that cannot be had are explained`() throws {
        let listener = try Self.start()
        defer { listener.stop() }
        let taken = HTTPListener.Settings(
            address: ListenAddress(host: "127.0.0.1", port: listener.port))
        let second = HTTPListener(
            "second", taken, router: Router([]), log: Logger(part: "http", to: CapturedLog()),
            metrics: Metrics())
        let fault = #expect(throws: HTTPFault.self) { try second.start() }
        #expect(fault?.reason == "the port is taken")
        let name = HTTPListener(
            "name", .init(address: ListenAddress(host: "no.such.host", port: 0)),
            router: Router([]), log: Logger(part: "http", to: CapturedLog()), metrics: Metrics())
        let second2 = #expect(throws: HTTPFault.self) { try name.start() }
        #expect(second2?.reason == "not a numeric address")
    }
}
