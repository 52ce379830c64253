// A request as handlers see it: complete, decoded, bounded.

package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    case trace = "TRACE"
}

/// Header fields in the order in which they came; names are looked up in any case.
package struct Headers: Sendable, Equatable {
    package private(set) var fields: [(name: String, value: String)] = []

    package init(_ fields: [(name: String, value: String)] = []) { self.fields = fields }

    /// The first value of the name. O(number of fields).
    package subscript(name: String) -> String? {
        fields.first { Self.isSame($0.name, name) }?.value
    }

    /// The values of all fields of the name, as they came.
    func values(_ name: String) -> [String] {
        fields.compactMap { Self.isSame($0.name, name) ? $0.value : nil }
    }

    /// All values of the name, of lists too: `a, b` counts as two.
    package func list(_ name: String) -> [String] {
        values(name).flatMap { $0.split(separator: ",") }
            .map { String($0.trimmingSpaces()) }
            .filter { !$0.isEmpty }
    }

    package mutating func add(_ name: String, _ value: String) {
        fields.append((name, value))
    }

    /// Sets the one value of the name.
    package mutating func set(_ name: String, _ value: String) {
        fields.removeAll { Self.isSame($0.name, name) }
        add(name, value)
    }

    package static func == (one: Headers, other: Headers) -> Bool {
        one.fields.elementsEqual(other.fields) { $0.name == $1.name && $0.value == $1.value }
    }

    /// Equal but for the case of ASCII letters.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count
            && zip(one.utf8, other.utf8).allSatisfy { $0 == $1 || lower($0) == lower($1) }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}

/// One request, with its body already received and decoded.
package struct Request: Sendable {
    package var method: Method
    package var target: RequestTarget
    package var headers: Headers
    package var body: [UInt8]
    /// The peer's numeric address, for limits only: it is never logged. A proxy's, behind one.
    package var remoteAddress: String
    /// Values of the route's `{name}` segments.
    package var parameters: [String: String] = [:]

    package init(
        _ method: Method, _ target: RequestTarget, headers: Headers = Headers(),
        body: [UInt8] = [], remoteAddress: String = "127.0.0.1"
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
    }

    package var path: String { target.path }

    /// The first query value of the name.
    package func query(_ name: String) -> String? { target.query[name] }

    /// The value of `{name}` in the route's pattern.
    package func parameter(_ name: String) -> String {
        guard let value = parameters[name] else {
            preconditionFailure("the route's pattern has no {\(name)}")
        }
        return value
    }

    /// The token of `Authorization: Bearer`.
    package var bearerToken: String? {
        guard let value = headers["Authorization"] else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        let token = parts[1].trimmingSpaces()
        return token.isEmpty ? nil : String(token)
    }
}

extension Substring {
    /// Without the spaces and tabs at both ends.
    func trimmingSpaces() -> Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var rest = self.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}
