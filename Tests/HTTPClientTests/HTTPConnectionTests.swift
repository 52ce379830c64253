// The client against real sockets: what is sent, what comes back, and every way it can fail.
import Runtime
import Testing

@testable import HTTPClient

@Suite struct HTTPConnectionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func limits(
        total: Int = 5_000, body: Int = 1_000, header: Int = 1_000
    ) -> HTTPLimits {
        var limits = HTTPLimits(totalMilliseconds: total)
        limits.bodyBytesMax = body
        limits.headerBytesMax = header
        return limits
    }

    private func fault(
        of request: HTTPRequest, limits: HTTPLimits? = nil,
        isCancelled: @escaping () -> Bool = { false }
    ) throws -> HTTPFault {
        let connection = HTTPConnection(limits: limits ?? self.limits())
        return try #require(throws: HTTPFault.self) {
            try connection.send(request, isCancelled: isCancelled)
        }
    }

    @Test func `many requests use one connection`() throws {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        defer { server.stop() }
        let connection = HTTPConnection(limits: limits())
        for number in 0..<5 {
            let request =
                number % 2 == 0
                ? HTTPRequest.get(server.url + "/\(number)")
                : .post(server.url + "/\(number)", body: Array("body".utf8))
            #expect(try connection.send(request).text == "ok")
        }
        #expect(server.heard.read { $0.connections } == 1)
        #expect(server.heard.read { $0.requests.count } == 5)
    }

    @Test func `a POST brings its headers and its body, and a GET after it has none`() throws {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        defer { server.stop() }
        let connection = HTTPConnection(limits: limits())
        _ = try connection.send(
            .post(
                server.url + "/v1/events", headers: [("Authorization", "Bearer abc")],
                body: Array("[1,2]".utf8)))
        _ = try connection.send(.get(server.url + "/after"))
        let requests = server.heard.read { $0.requests }
        #expect(requests[0].hasPrefix("POST /v1/events HTTP/1.1\r\n"))
        #expect(requests[0].contains("Authorization: Bearer abc\r\n"))
        #expect(requests[0].contains("Content-Length: 5\r\n"))
        #expect(requests[0].hasSuffix("\r\n\r\n[1,2]"))
        #expect(!requests[0].contains("Expect"))
        #expect(requests[1].hasPrefix("GET /after HTTP/1.1\r\n"))
        #expect(!requests[1].contains("Authorization"))
    }

    @Test func `other methods, and a body of nothing`() throws {
        let server = ScriptedServer { _ in .bytes("HTTP/1.1 204 No Content\r\n\r\n") }
        defer { server.stop() }
        let connection = HTTPConnection(limits: limits())
        #expect(try connection.send(HTTPRequest("PUT", server.url + "/x", body: [])).status == 204)
        #expect(try connection.send(HTTPRequest("DELETE", server.url + "/x")).status == 204)
        let requests = server.heard.read { $0.requests }
        #expect(requests[0].hasPrefix("PUT /x "))
        #expect(requests[0].contains("Content-Length: 0\r\n"))
        #expect(requests[1].hasPrefix("DELETE /x "))
    }

    @Test func `status, headers in any case and a chunked body come back`() throws {
        let server = ScriptedServer { _ in
            .bytes(
                "HTTP/1.1 503 Busy\r\nretry-after:  7 \r\nETag: \"a\"\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
        }
        defer { server.stop() }
        let response = try HTTPConnection(limits: limits()).send(.get(server.url))
        #expect(response.status == 503)
        #expect(response.retryAfterSeconds == 7)
        #expect(response[header: "etag"] == "\"a\"")
        #expect(response.text == "onetwo")
    }

    @Test func `a redirect is an answer like others`() throws {
        let server = ScriptedServer { _ in
            .bytes("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        #expect(try HTTPConnection(limits: limits()).send(.get(server.url)).status == 302)
        #expect(server.heard.read { $0.requests.count } == 1)
    }

    @Test func `where nobody listens`() throws {
        let server = ScriptedServer { _ in .silence }
        let url = server.url
        server.stop()
        let fault = try fault(of: .get(url))
        #expect(fault.kind == .unreachable)
        #expect(fault.isRetriable)
        #expect("\(fault)".contains(url))
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func `an answer that does not end in time`(beginning: String) throws {
        let server = ScriptedServer { _ in
            .bytes(beginning)
        }
        defer { server.stop() }
        let fault = try fault(of: .get(server.url), limits: limits(total: 200))
        #expect(fault.kind == .timedOut)
        #expect(fault.isRetriable)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
    ])
    func `a connection that ends before the answer does`(beginning: String) throws {
        let server = ScriptedServer { _ in .last(beginning) }
        defer { server.stop() }
        let fault = try fault(of: .get(server.url))
        #expect(fault.kind == .cut, "\(fault)")
        #expect(fault.isRetriable)
    }

    @Test func `a body larger than the limit, whatever length it claims`() throws {
        let large = String(repeating: "x", count: 1_001)
        let server = ScriptedServer { number in
            number == 0
                ? .bytes("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n\(large)")
                : .last("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(large)")
        }
        defer { server.stop() }
        for _ in 0..<2 {
            let fault = try fault(of: .get(server.url))
            #expect(fault.kind == .tooLarge)
            #expect(!fault.isRetriable)
        }
    }

    @Test func `headers larger than the limit`() throws {
        let large = String(repeating: "x", count: 1_001)
        let server = ScriptedServer { _ in
            .bytes("HTTP/1.1 200 OK\r\nX-Large: \(large)\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        #expect(try fault(of: .get(server.url)).kind == .tooLarge)
    }

    @Test func `a caller that has lost interest`() throws {
        let server = ScriptedServer { _ in .silence }
        defer { server.stop() }
        let asked = Monitor(0)
        let fault = try fault(of: .get(server.url), limits: limits(total: 60_000)) {
            asked.withLock { $0 += 1 }
            return asked.read { $0 > 1 }
        }
        #expect(fault.kind == .stopped)
        #expect(!fault.isRetriable)
    }

    @Test(arguments: ["file:///etc/hostname", "nonsense://x", "http://", "ftp://127.0.0.1/"])
    func `addresses that are not of the web`(url: String) throws {
        #expect(try fault(of: .get(url)).kind == .badAddress)
    }

    @Test func `something that does not speak HTTP`() throws {
        let server = ScriptedServer { _ in .last("SSH-2.0-OpenSSH\r\n") }
        defer { server.stop() }
        let fault = try fault(of: .get(server.url))
        #expect(fault.kind == .other, "\(fault)")
    }

    @Test func `the connection goes on after a fault`() throws {
        let server = ScriptedServer { $0 == 0 ? .last("") : .bytes(Self.ok) }
        defer { server.stop() }
        let connection = HTTPConnection(limits: limits())
        #expect(throws: HTTPFault.self) { try connection.send(.get(server.url)) }
        #expect(try connection.send(.get(server.url)).text == "ok")
    }
}
