// The collector where the public reaches it: over TLS, and behind a proxy.
import Foundation
import HTTPClient
import ProcessTestSupport
import Runtime
import Testing

@Suite("The collector on the internet")
struct PublicTests {
    private static let session = #"{"type":"session","app":"shop","session":"s"}"#

    private func run(
        _ words: String...
    ) throws -> (ending: ChildProcess.Ending, text: String) {
        let ran = try ChildProcess.run(words, errors: .nowhere)
        return (ran.ending, String(decoding: ran.output, as: UTF8.self))
    }

    @Test("serves HTTPS with a certificate, TLS 1.2 and later")
    func tls() throws {
        try withWorkplace { workplace in
            let (key, certificate) = (workplace.folder + "/key", workplace.folder + "/cert")
            let made = try run(
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
            try #require(made.ending == .exited(0))
            let collect = try workplace.start(
                "collect", ["--tls-certificate", certificate, "--tls-key", key])
            defer { collect.close() }
            let address = try collect.address()
            #expect(address.hasPrefix("https://"))
            let answer = try run(
                "curl", "-s", "--cacert", certificate, "--data-binary", Self.session,
                "\(address)/v1/events")
            #expect(answer.text == #"{"accepted":1,"rejected":[]}"#)
            let old = try run(
                "curl", "-s", "--cacert", certificate, "--tls-max", "1.1", "\(address)/livez")
            #expect(old.ending != .exited(0) && old.text.isEmpty)
        }
    }

    @Test("counts by the address that a trusted proxy tells, and only by that of one")
    func proxy() throws {
        try withWorkplace { workplace in
            for isTrusted in [true, false] {
                let trust = isTrusted ? ["--trusted-proxy", "127.0.0.1"] : []
                let collect = try workplace.start("collect", ["--address-rate", "1"] + trust)
                defer { collect.close() }
                let url = "\(try collect.address())/v1/events"
                let connection = HTTPConnection()
                func send(from address: String) throws -> Int {
                    let headers = [(name: "X-Forwarded-For", value: "8.8.8.8, \(address)")]
                    return try connection.post(url, Self.session, headers: headers).status
                }
                // Ten seconds' worth and the last one that begins within it, or a few more.
                var statuses: [Int] = []
                for _ in 0..<40 { statuses.append(try send(from: "192.0.2.1")) }
                #expect(statuses.first == 202 && statuses.last == 429)
                #expect(try send(from: "192.0.2.2") == (isTrusted ? 202 : 429))
                #expect(!collect.complaints.contains("192.0.2"), "no address is ever logged")
            }
        }
    }

    @Test("reads the keys again when the file has changed")
    func rotation() throws {
        try withWorkplace { workplace in
            let (old, new) = ("the-key-of-last-year", "the-key-of-this-year")
            let keys = try workplace.write("keys.txt", "\(old) shop\n")
            let collect = try workplace.start("collect", ["--keys", keys])
            defer { collect.close() }
            let url = "\(try collect.address())/v1/events"
            func send(_ key: String) throws -> Int {
                let headers = [(name: "Authorization", value: "Bearer \(key)")]
                return try HTTPConnection().post(url, Self.session, headers: headers).status
            }
            #expect(try send(old) == 202)
            #expect(try send(new) == 401)
            _ = try workplace.write("keys.txt", "\(old) shop\n\(new) shop\n")
            _ = try collect.line(with: "keys read again")
            #expect(try send(old) == 202)
            #expect(try send(new) == 202)
            _ = try workplace.write("keys.txt", "\(new) shop\n")
            _ = try eventually("the old key is gone") { try send(old) == 401 ? true : nil }
            for key in [old, new] { #expect(!collect.complaints.contains(key)) }
        }
    }
}
