// A request and its answer, as values.

/// What to ask of a server.
package struct HTTPRequest: Sendable {
    package var method: String
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?

    package init(
        _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    package static func get(
        _ url: String, headers: [(name: String, value: String)] = []
    ) -> HTTPRequest {
        HTTPRequest("GET", url, headers: headers)
    }

    package static func post(
        _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]
    ) -> HTTPRequest {
        HTTPRequest("POST", url, headers: headers, body: body)
    }
}

/// What a server answered.
package struct HTTPResponse: Sendable, Equatable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    package var status: Int
    /// As sent, in their order.
    package var headers: [Header]
    package var body: [UInt8]

    /// The value of the first header of this name, in any case.
    package subscript(header name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// `Retry-After` in seconds; nil when absent, or a date.
    package var retryAfterSeconds: Int? {
        self[header: "Retry-After"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
