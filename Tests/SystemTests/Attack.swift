// Hostile requests by kind, each with the reason that the collector has to count it under.
import BrakeModel
import Foundation
import HTTPServer

/// One request, or several, that nobody should send.
struct Attack {
    static let key = "0123456789abcdef0123456789abcdef"

    /// The reason in the metrics; nil: it may be taken or refused, but comes to an end.
    var reason: String?
    /// How many refusals it is.
    var refusals = 1
    var bytes: [UInt8]

    /// All kinds, in order: so that a run has each of them.
    static let kinds: [@Sendable (inout SeededGenerator) -> Attack] = [
        { _ in Attack(reason: "no_request", bytes: [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]) },
        { _ in
            let flood = (0..<4_000).map { "X-\($0): flood\r\n" }.joined()
            return Attack(reason: "headers", bytes: head("GET /livez", flood))
        },
        { _ in Attack(reason: "headers", bytes: Array("GET /livez HTTP/1.1\r\nHost: t".utf8)) },
        { _ in upload("too_large", "Content-Length: 2000000\r\n", body: []) },
        { _ in
            upload("too_large", "Content-Length: 2000000\r\nExpect: 100-continue\r\n", body: [])
        },
        { _ in
            let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 32, count: 65_536) + [13, 10]
            let body = (0..<24).flatMap { _ in chunk } + Array("0\r\n\r\n".utf8)
            return upload("too_large", "Transfer-Encoding: chunked\r\n", body: body)
        },
        { _ in packed("too_large", bomb) },
        { _ in packed("too_large", bomb, to: "/api/7/envelope/") },
        { _ in
            packed("too_large", bomb, to: "/v1/logs", "Content-Type: application/x-protobuf\r\n")
        },
        { _ in packed("gzip", Array(bomb.prefix(100)) + [1, 2, 3]) },
        { _ in sized("no_key", session, key: nil) },
        { random in sized("unknown_key", session, key: "\(random.next())-not-a-key") },
        { _ in upload("aborted", "Content-Length: 500\r\n", body: session) },
        { _ in
            let one = "GET /nothing HTTP/1.1\r\nHost: t\r\n\r\n"
            return Attack(
                reason: "path", refusals: 20, bytes: Array(String(repeating: one, count: 20).utf8))
        },
        { _ in
            upload("framing", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", body: session)
        },
        { _ in sized("bad_json", [UInt8](repeating: UInt8(ascii: "["), count: 30_000)) },
        { _ in
            let events = Array(repeating: String(decoding: session, as: UTF8.self), count: 1_001)
            return sized("too_many_events", Array("[\(events.joined(separator: ","))]".utf8))
        },
        { _ in sized("envelope", garbage, to: "/api/7/envelope/") },
        { _ in
            sized("otlp", garbage, to: "/v1/logs", "Content-Type: application/x-protobuf\r\n")
        },
        { _ in sized("content_type", session, to: "/v1/logs") },
        { _ in sized("origin", session, "Origin: https://elsewhere.example\r\n") },
        { _ in Attack(reason: "target", bytes: head("GET /../../etc/passwd")) },
        { _ in Attack(reason: "method", bytes: head("BREW /v1/events")) },
        { _ in sized("encoding", session, "Content-Encoding: br\r\n") },
        { _ in sized("not_events", Array("7".utf8)) },
        { random in
            // As many fields as just fit, of those that are looked for, and a made-up address.
            let hops = "X-Forwarded-For: \(random.next(below: 256)).0.0.1\r\n"
            return sized(nil, session, String(repeating: hops, count: 300))
        },
        { _ in
            let another = #"{"type":"session","app":"bank","session":"s"}"#
            return sized("wrong_app", Array("[\(another)]".utf8))
        },
        { _ in sized("empty", Array("  ".utf8)) },
        { _ in
            let key = String(repeating: "k", count: 256)
            return sized("idempotency_key", session, "Idempotency-Key: \(key)\r\n")
        },
        fuzzed,
    ]

    /// A good request with some bytes of it changed, doubled or left out.
    @Sendable private static func fuzzed(_ random: inout SeededGenerator) -> Attack {
        var attack = sized(nil, session)
        for _ in 0...random.next(below: 8) {
            let at = random.next(below: attack.bytes.count)
            switch random.next(below: 3) {
            case 0: attack.bytes[at] = UInt8(random.next(below: 256))
            case 1: attack.bytes.insert(contentsOf: attack.bytes.suffix(at), at: at)
            default: attack.bytes.remove(at: at)
            }
        }
        return attack
    }

    private static let session = Array(#"{"type":"session","app":"shop","session":"s"}"#.utf8)
    private static let garbage: [UInt8] = (0..<400).map { UInt8(($0 * 7 + 3) % 251) }
    /// Fifty megabytes of nothing.
    private static let bomb = Gzip.encoded([UInt8](repeating: 0, count: 50 << 20)) ?? []

    private static func head(_ line: String, _ fields: String = "") -> [UInt8] {
        Array("\(line) HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\(fields)\r\n".utf8)
    }

    private static func upload(
        _ reason: String?, _ fields: String, body: [UInt8], to path: String = "/v1/events",
        key: String? = Attack.key
    ) -> Attack {
        let auth = key.map {
            "Authorization: Bearer \($0)\r\nX-Sentry-Auth: Sentry sentry_key=\($0)\r\n"
        }
        return Attack(reason: reason, bytes: head("POST \(path)", (auth ?? "") + fields) + body)
    }

    /// An upload whose length is as it says.
    private static func sized(
        _ reason: String?, _ body: [UInt8], to path: String = "/v1/events", _ fields: String = "",
        key: String? = Attack.key
    ) -> Attack {
        upload(reason, "Content-Length: \(body.count)\r\n\(fields)", body: body, to: path, key: key)
    }

    private static func packed(
        _ reason: String, _ body: [UInt8], to path: String = "/v1/events", _ fields: String = ""
    ) -> Attack {
        sized(reason, body, to: path, "Content-Encoding: gzip\r\n\(fields)")
    }
}
