// The target of a request line, decoded strictly: what two readers could read in two ways is
// refused.

/// Path and query.
package struct RequestTarget: Sendable, Equatable {
    /// More query items are refused.
    package static let queryItemsMax = 64

    /// Decoded, beginning with `/`; no segment is `.` or `..` or holds a slash or control
    /// character.
    package let path: String
    package let segments: [String]
    /// The first value of each name, decoded.
    package let query: [String: String]

    /// Nil: malformed or trying to escape.
    package init?(_ text: String) {
        var rest = Substring(text)
        // The absolute form, as proxies send it: only the path matters here.
        if rest.utf8.first != UInt8(ascii: "/") {
            for scheme in ["http://", "https://"] where rest.lowercased().hasPrefix(scheme) {
                rest = rest.dropFirst(scheme.count).drop { $0 != "/" && $0 != "?" }
                if rest.first != "/" { rest = "/" + rest }
            }
        }
        guard rest.first == "/" else { return nil }
        let end = rest.firstIndex(of: "?") ?? rest.endIndex
        var segments: [String] = []
        for raw in rest[..<end].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        {
            guard let segment = Self.decoded(raw, plusIsSpace: false), Self.isHarmless(segment)
            else { return nil }
            segments.append(segment)
        }
        guard let query = Self.query(rest[end...].dropFirst()) else { return nil }
        self.segments = segments
        self.path = "/" + segments.joined(separator: "/")
        self.query = query
    }

    private static func query(_ text: Substring) -> [String: String]? {
        let items = text.split(separator: "&")
        guard items.count <= queryItemsMax else { return nil }
        var query: [String: String] = [:]
        for item in items {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0], plusIsSpace: true),
                let value = decoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
            else { return nil }
            if query[name] == nil { query[name] = value }
        }
        return query
    }

    private static func isHarmless(_ segment: String) -> Bool {
        segment != "." && segment != ".."
            && segment.utf8.allSatisfy {
                $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
            }
    }

    /// Nil: an escape which is none, or bytes which are not UTF-8.
    private static func decoded(_ text: Substring, plusIsSpace: Bool) -> String? {
        // As most are: nothing to decode.
        if text.utf8.allSatisfy({ $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "+") }) {
            return String(text)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexDigit),
                    let low = rest.popFirst().flatMap(hexDigit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
