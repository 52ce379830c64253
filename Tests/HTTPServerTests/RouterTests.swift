// The router and the decoding of targets, without a socket.
import Runtime
import Testing

@testable import HTTPServer

@Suite struct RouterTests {
    private let router = Router([
        Route(.get, "/v1/apps/{app}") { .text("app \($0.parameter("app"))") },
        Route(.get, "/v1/apps/fleet") { _ in .text("fleet") },
        Route(.get, "/") { .text("console \($0.query("x") ?? "-")") },
        Route(.post, "/v1/events", bodyBytesMax: 100) { .text("\($0.body.count)") },
        Route(.delete, "/v1/apps/{app}") { _ in Response(204) },
    ])

    private func answer(_ method: HTTPServer.Method, _ target: String) throws -> Response {
        router.respond(to: Request(method, try #require(RequestTarget(target))))
    }

    private func text(_ response: Response) -> String {
        String(decoding: response.bytes, as: UTF8.self)
    }

    @Test func `A literal segment wins over a parameter`() throws {
        #expect(text(try answer(.get, "/v1/apps/fleet")) == "fleet")
        #expect(text(try answer(.get, "/v1/apps/fleet2")) == "app fleet2")
        #expect(text(try answer(.get, "/?x=1")) == "console 1")
    }

    @Test func `HEAD is answered by GET`() throws {
        #expect(try answer(.head, "/v1/apps/a").status == 200)
        #expect(try answer(.head, "/v1/events").status == 405)
    }

    @Test(arguments: ["/v1/apps", "/v1/apps/", "/v1/apps/a/", "/v2", "//", "/v1//apps"])
    func `A path of another shape is not found`(path: String) throws {
        let response = try answer(.get, path)
        #expect(response.status == 404)
        #expect(text(response).hasPrefix(#"{"error":"no such path","hint":""#))
    }

    @Test func `A method the path does not have is answered with those it has`() throws {
        let response = try answer(.put, "/v1/apps/a")
        #expect(response.status == 405)
        #expect(response.headers["allow"] == "GET, HEAD, DELETE, OPTIONS")
        let options = try answer(.options, "/v1/events")
        #expect(options.status == 204)
        #expect(options.headers["Allow"] == "POST, OPTIONS")
    }

    @Test func `Targets are decoded segment by segment`() throws {
        let target = try #require(RequestTarget("/v1/a%20b+c?d=%C3%A9+f&d=2&e&=1"))
        #expect(target.segments == ["v1", "a b+c"])
        #expect(target.path == "/v1/a b+c")
        #expect(target.query == ["d": "é f", "e": "", "": "1"])
        #expect(RequestTarget("http://host:80/a?b=1")?.path == "/a")
        #expect(RequestTarget("http://host?b=1")?.query == ["b": "1"])
    }

    @Test(arguments: [
        "", "*", "a", "/a/../b", "/a/%2e%2E/b", "/.", "/a%2Fb", "/a%5cb", "/a\\b", "/%00", "/a%0Ab",
        "/%", "/%2", "/%zz", "/%+1", "/%ff", "/a?b=%", "/a?b=%ff", "host:80", "/%7f",
    ])
    func `A target that could be read in two ways is refused`(target: String) {
        #expect(RequestTarget(target) == nil)
    }

    @Test func `A query with too many items is refused`() {
        let most = String(repeating: "a=1&", count: RequestTarget.queryItemsMax)
        #expect(RequestTarget("/?" + most) != nil)
        #expect(RequestTarget("/?" + most + "a=1") == nil)
    }

    @Test func `Header names are looked up in any case and lists are split`() {
        let headers = Headers([("If-None-Match", #"W/"a", "b""#), ("if-none-match", "*")])
        #expect(headers["IF-NONE-MATCH"] == #"W/"a", "b""#)
        #expect(headers.list("if-none-match") == [#"W/"a""#, #""b""#, "*"])
        #expect(headers["if-none-matc\u{8}"] == nil)
    }

    @Test(arguments: [
        ("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", nil), ("Bearer", nil),
        ("Bearer ", nil), ("", nil),
    ])
    func `The bearer token is what follows the word`(value: String, token: String?) throws {
        let target = try #require(RequestTarget("/"))
        let request = Request(.get, target, headers: Headers([("authorization", value)]))
        #expect(request.bearerToken == token)
    }
}

@Suite struct GzipTests {
    @Test(arguments: [0, 1, 1_000, 40_000, 300_000])
    func `What was encoded is decoded up to the limit`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 ^ $0 >> 5) }
        let encoded = try #require(Gzip.encoded(bytes))
        #expect(try Gzip.decoded(encoded, bytesMax: count) == bytes)
        if count > 0 {
            #expect(throws: Gzip.DecodeError.tooLarge) {
                try Gzip.decoded(encoded, bytesMax: count - 1)
            }
        }
    }

    @Test func `Members one after another are one body`() throws {
        let one = try #require(Gzip.encoded(Array("ab".utf8)))
        #expect(try Gzip.decoded(one + one, bytesMax: 10) == Array("abab".utf8))
    }

    @Test func `Every cut and every flipped bit of the data is noticed`() throws {
        let encoded = try #require(Gzip.encoded(Array("the quick brown fox".utf8)))
        for length in 0..<encoded.count {
            #expect(throws: Gzip.DecodeError.damaged) {
                try Gzip.decoded(Array(encoded.prefix(length)), bytesMax: 1_000)
            }
        }
        for bit in 80..<encoded.count * 8 {
            var damaged = encoded
            damaged[bit / 8] ^= 1 << (bit % 8)
            // A bit that means nothing, as padding, may do no harm; none may go unnoticed.
            let text = try? Gzip.decoded(damaged, bytesMax: 1_000)
            #expect(text == nil || text == Array("the quick brown fox".utf8))
        }
        #expect(throws: Gzip.DecodeError.damaged) {
            try Gzip.decoded(encoded + [1, 2, 3], bytesMax: 1_000)
        }
    }
}
