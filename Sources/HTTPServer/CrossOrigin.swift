// Pages of other sites: what browsers ask before they send, and what they are told.

/// The sites whose pages may use a listener; none unless an operator names them. Without this a
/// page of any site could send to a listener on the loopback address of whoever looks at it.
package struct CrossOrigin: Sendable, Equatable {
    /// How long a browser may remember the answer.
    private static let preflightSeconds = 600
    /// Only these are for other sites; metrics and the console are not.
    private static let prefixes = ["/v1/", "/api/", "/ofrep/"]

    private let origins: Set<String>

    /// `https://example.com`, or `*` for all.
    package init(_ origins: some Sequence<String>) { self.origins = Set(origins) }

    package static let none = CrossOrigin([])

    /// Whether a page of that site may send to the path.
    func allows(_ origin: String, path: String) -> Bool {
        (origins.contains("*") || origins.contains(origin)) && Self.isForOthers(path)
    }

    private static func isForOthers(_ path: String) -> Bool {
        prefixes.contains { path.hasPrefix($0) }
    }

    /// Whether the request comes from a page that may not send it. Reading needs no check: a
    /// browser keeps the answer from a page that is not allowed.
    func refuses(_ method: Method, _ headers: Headers, path: String) -> Bool {
        guard method != .get, method != .head, method != .options,
            let origin = headers["Origin"], !allows(origin, path: path)
        else { return false }
        let authority = origin.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return authority.count != 3 || authority[2] != headers["Host"] ?? ""
    }

    /// Adds what a browser wants to see before it hands the answer to a page. What depends on the
    /// site says so even to who names none, or a cache would give that answer to a page.
    func mark(_ response: inout Response, origin: String?, path: String) {
        guard !origins.isEmpty, Self.isForOthers(path) else { return }
        if origins.contains("*") {
            response.headers.set("Access-Control-Allow-Origin", "*")
        } else {
            response.headers.add("Vary", "Origin")
            guard let origin, origins.contains(origin) else { return }
            response.headers.set("Access-Control-Allow-Origin", origin)
        }
        response.headers.set("Access-Control-Expose-Headers", "ETag, Retry-After")
    }

    /// What a browser is told that asks first; nil when this is not such a question, or not
    /// allowed.
    func preflight(
        _ headers: Headers, path: String, allowed: String
    ) -> Response? {
        guard let origin = headers["Origin"], headers["Access-Control-Request-Method"] != nil,
            allows(origin, path: path)
        else { return nil }
        var response = Response(204)
        response.headers.add("Access-Control-Allow-Methods", allowed)
        response.headers.add(
            "Access-Control-Allow-Headers",
            "Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, "
                + "X-Sentry-Auth")
        response.headers.add("Access-Control-Max-Age", "\(Self.preflightSeconds)")
        return response
    }
}
