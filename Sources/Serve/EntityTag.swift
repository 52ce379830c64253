// Validators of HTTP caching: a new state has a new tag, and nobody is told "unchanged" unasked.

package import HTTPServer

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
