// TLS, with a key made for the test, and limits by address.
import Foundation
import ProcessTestSupport
import Runtime
import Testing

@testable import HTTPServer

@Suite struct ListenerTLSTests {
    /// Runs a program of the system and returns what it printed.
    private static func run(
        _ words: String..., input: [UInt8] = []
    ) throws -> (ending: ChildProcess.Ending, text: String) {
        let ran = try ChildProcess.run(words, input: input, errors: .nowhere)
        return (ran.ending, String(decoding: ran.output, as: UTF8.self))
    }

    @Test func `Requests over TLS are answered, also those that are refused`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (key, certificate) = (folder.appending(path: "key"), folder.appending(path: "cert"))
        let made = try Self.run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout", key.path(), "-out", certificate.path())
        try #require(made.ending == .exited(0))
        let texts = try [key, certificate].map { try String(contentsOf: $0, encoding: .utf8) }
        let listener = try ListenerTests.start {
            $0.tlsKey = texts[0]
            $0.tlsCertificate = texts[1]
        }
        defer { listener.stop() }
        let place = "https://127.0.0.1:\(listener.port)"
        let trust = certificate.path()
        let hello = try Self.run("curl", "-s", "--cacert", trust, "\(place)/hello/tls")
        #expect(hello.text == "hello tls")
        let large = try Self.run(
            "curl", "-s", "--cacert", trust, "-H", "Expect:", "--data-binary", "@-",
            "-w", "%{http_code}", "\(place)/count", input: [UInt8](repeating: 1, count: 200_000))
        #expect(large.text.hasSuffix("413"))
    }

    @Test func `A key without its certificate is refused at start`() {
        let fault = #expect(throws: HTTPFault.self) {
            try ListenerTests.start { $0.tlsKey = "key" }
        }
        #expect(fault?.hint == "Give both files, in PEM.")
    }

    @Test func `What is no key is refused at start`() {
        let fault = #expect(throws: HTTPFault.self) {
            try ListenerTests.start {
                $0.tlsKey = "key"
                $0.tlsCertificate = "certificate"
            }
        }
        #expect(fault?.reason == "libmicrohttpd refuses the settings")
    }

    @Test func `An address has no more connections than it may have`() throws {
        let peer = Route(.get, "/peer") { .text($0.remoteAddress) }
        let listener = try ListenerTests.start(more: [peer]) {
            $0.connectionsPerAddressMax = 2
            $0.threads = .pool(1)
        }
        defer { listener.stop() }
        let (one, other) = (try Client(port: listener.port), try Client(port: listener.port))
        #expect(try one.get("/peer").text == "127.0.0.1")
        #expect(try other.get("/peer").text == "127.0.0.1")
        #expect(try Client(port: listener.port).isClosedByServer())
        #expect(try one.get("/peer").status == 200)
    }
}
