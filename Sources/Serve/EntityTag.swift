// Validators of HTTP caching: a new state has a new tag, and nobody is told "unchanged" unasked.

import BrakeModel
package import HTTPServer
import Runtime

/// A weak entity tag.
package struct EntityTag: Sendable, Equatable {
    /// With quotes, without the mark of weakness.
    private let opaque: String

    package init(_ hash: UInt64) {
        let digits = String(hash, radix: 16)
        opaque = "\"" + String(repeating: "0", count: 16 - digits.count) + digits + "\""
    }

    /// As a header carries it.
    package var text: String { "W/" + opaque }

    /// Whether the request names this tag among those it holds. False when it names none: two
    /// absent validators are not equal.
    package func isHeld(by request: Request) -> Bool {
        request.headers.list("If-None-Match").contains { item in
            item == "*" || item == opaque || item == text
        }
    }
}

extension EntityTag {
    /// Of a body that tells nothing but what its validator stands for.
    init(of body: [UInt8]) {
        self.init(unsafe body.withUnsafeBytes { unsafe StableHash.of($0) })
    }
}

extension Response {
    /// The body, or 304 to who holds it already: with its tag and its freshness, which a cache then
    /// takes over.
    static func validated(
        _ request: Request, _ tag: EntityTag, cacheControl: String, body: () -> [UInt8]
    ) -> Response {
        let response = tag.isHeld(by: request) ? Response(304) : Response.json(body())
        return response.with("ETag", tag.text).with("Cache-Control", cacheControl)
    }

    /// As above; the same may be given to others for so long.
    static func validated(
        _ request: Request, _ tag: EntityTag, cacheControl: String, milliseconds: Int64,
        counter: Counter, body: [UInt8]
    ) -> Response {
        let fields = [("ETag", tag.text), ("Cache-Control", cacheControl)]
        let both = [Response.json(body), Response(304)].map { response in
            fields.reduce(response) { $0.with($1.0, $1.1) }
        }
        var response = tag.isHeld(by: request) ? both[1] : both[0]
        response.reuse = ReusableAnswer(
            whole: both[0], unchanged: both[1], milliseconds: milliseconds, counter: counter)
        return response
    }
}
