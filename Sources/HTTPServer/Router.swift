// Which handler answers a request. Pure: testable without a socket.

/// Answers a request; may block for a while, as the pool of the listener allows.
package typealias Handler = @Sendable (Request) -> Response

/// A method, a pattern and what answers them.
package struct Route: Sendable {
    package let method: Method
    /// `/v1/apps/{app}`; also the label of metrics.
    package let pattern: String
    /// Larger bodies are refused with 413, as sent and as decoded.
    package let bodyBytesMax: Int
    /// Looks at a request before its body is read, which is then empty; what it returns refuses it.
    package let admit: @Sendable (Request) -> Response?
    package let handler: Handler
    let segments: [Segment]

    enum Segment: Sendable, Equatable {
        case literal(String)
        case parameter(String)
    }

    package init(
        _ method: Method, _ pattern: String, bodyBytesMax: Int = 0,
        admit: @escaping @Sendable (Request) -> Response? = { _ in nil },
        _ handler: @escaping Handler
    ) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with /: \(pattern)")
        precondition(method != .head && method != .options, "HEAD and OPTIONS follow by themselves")
        self.method = method
        self.pattern = pattern
        self.bodyBytesMax = bodyBytesMax
        self.admit = admit
        self.handler = handler
        segments = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            $0.hasPrefix("{") && $0.hasSuffix("}")
                ? .parameter(String($0.dropFirst().dropLast())) : .literal(String($0))
        }
    }

    /// Values of the parameters when the path fits, else nil.
    func parameters(for path: [String]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var values: [String: String] = [:]
        for (segment, word) in zip(segments, path) {
            switch segment {
            case .literal(let literal): if literal != word { return nil }
            case .parameter(let name):
                if word.isEmpty { return nil }
                values[name] = word
            }
        }
        return values
    }
}

/// All routes of a listener. A literal segment wins over a parameter.
package struct Router: Sendable {
    package enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// Answered without any handler.
        case answer(Response)
    }

    /// More of a method that is none is not repeated.
    private static let methodCharactersMax = 32

    private let routes: [Route]

    package init(_ routes: [Route]) {
        let keys = routes.map { "\($0.method.rawValue) \($0.pattern)" }
        precondition(Set(keys).count == keys.count, "a route is declared once: \(keys)")
        self.routes = routes.sorted { one, other in
            for (a, b) in zip(one.segments, other.segments) where a != b {
                if case .parameter = b, case .literal = a { return true }
                if case .parameter = a, case .literal = b { return false }
            }
            return false
        }
    }

    /// What answers; decided on the request line alone. O(number of routes).
    package func match(_ method: Method, _ target: RequestTarget) -> Match {
        let wanted = method == .head ? .get : method
        var allowed: Set<Method> = []
        for route in routes {
            guard let parameters = route.parameters(for: target.segments) else { continue }
            if route.method == wanted { return .route(route, parameters: parameters) }
            allowed.insert(route.method)
        }
        if method == .options, let allow = Self.allow(allowed) {
            return .answer(Response(204).with("Allow", allow))
        }
        return .answer(Self.refusal(of: method.rawValue, allowed))
    }

    /// The answer to a method that no route has.
    func refusal(of method: String, _ target: RequestTarget) -> Response {
        let fitting = routes.filter { $0.parameters(for: target.segments) != nil }
        return Self.refusal(of: method, Set(fitting.map(\.method)))
    }

    private static func refusal(of method: String, _ methods: Set<Method>) -> Response {
        guard let allow = allow(methods) else {
            return .error(
                404, reason: "path", "no such path", hint: "See the list of paths in the README.")
        }
        return Response.error(
            405, reason: "method", "\(method.prefix(methodCharactersMax)) is not for this path",
            hint: "Use \(allow)."
        ).with("Allow", allow)
    }

    /// What a path with routes of these methods can be asked; nil when there are none.
    private static func allow(_ methods: Set<Method>) -> String? {
        guard !methods.isEmpty else { return nil }
        var methods = methods.union([.options])
        if methods.contains(.get) { methods.insert(.head) }
        return Method.allCases.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
    }

    /// Matches and answers: a whole request without a socket.
    package func respond(to request: Request) -> Response {
        switch match(request.method, request.target) {
        case .answer(let response): return response
        case .route(let route, let parameters):
            var request = request
            request.parameters = parameters
            return route.admit(request) ?? route.handler(request)
        }
    }
}
