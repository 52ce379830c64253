// One request and its answer on their way through the library's callbacks.
import CMicroHTTPD
import Glibc
import Runtime

/// The state of one request. Only the thread that runs the connection touches it.
final class Exchange {
    /// A refused body is read so far, that the client may see the answer before the end.
    static let drainBytesMax = 4 << 20
    static let drainMilliseconds: Int64 = 2_000

    /// What will answer once the request is complete.
    enum Plan {
        case undecided
        case handle(Route)
        case refuse(Response)
        /// As it was answered right before, to who holds it or not.
        case reuse(PreparedAnswer, isHeld: Bool)
        /// The answer has been sent past the library; the rest is read and dropped.
        case answered
    }

    let connection: Connection
    let targetText: String
    private let settings: HTTPListener.Settings
    private let meters: ListenerMeters
    private let bodies: BodyBudget
    private let isTLS: Bool
    /// Without a body, once the headers are there and good.
    private var request: Request?
    private var route: Route?
    /// Once the target is known to be good.
    private var path: String?
    var headers = Headers()
    var plan = Plan.undecided
    private var body: [UInt8] = []
    /// What the budget of bodies has lent to this one.
    private var lent = 0
    /// Of that, what counts as still being sent; and by whom.
    private var arriving = 0
    private lazy var sender = ClientAddress.group(
        request?.remoteAddress ?? connection.remoteAddress)
    private var drained = 0
    var isAnswered = false
    var stream: ResponseStream?

    init(connection: Connection, targetText: String, listener: HTTPListener) {
        self.connection = connection
        self.targetText = targetText
        settings = listener.settings
        meters = listener.meters
        bodies = listener.bodies
        isTLS = listener.isTLS
    }

    /// The route's pattern for metrics: never the path, which anyone can make up.
    var routeLabel: String { route?.pattern ?? "none" }

    /// Whether a body follows the headers.
    var hasBody: Bool { headers["Transfer-Encoding"] != nil || (declaredLength ?? 0) > 0 }

    var expectsContinue: Bool { headers["Expect"]?.lowercased() == "100-continue" }

    private var declaredLength: Int? { headers["Content-Length"].flatMap { Int($0) } }

    /// Decides on the request line and the headers who will answer.
    func decide(_ methodText: String, _ listener: HTTPListener) {
        plan = makePlan(methodText, listener.router)
    }

    private func makePlan(_ methodText: String, _ router: Router) -> Plan {
        if let refusal = framingRefusal { return .refuse(refusal) }
        guard let target = RequestTarget(targetText) else {
            return .refuse(
                .error(
                    400, reason: "target", "malformed path or query",
                    hint: "Escape it as RFC 3986."))
        }
        path = target.path
        // To who asks in an unknown way it helps more to see which ways there are than a 501.
        guard let method = Method(rawValue: methodText) else {
            return .refuse(router.refusal(of: methodText, target))
        }
        let address = ClientAddress.client(
            peer: connection.remoteAddress, headers, trusted: settings.trustedProxies)
        var request = Request(method, target, headers: headers, remoteAddress: address)
        defer { self.request = request }
        switch router.match(method, target) {
        case .answer(let response):
            return .refuse(preflight(request, response) ?? response)
        case .route(let route, let parameters):
            request.parameters = parameters
            self.route = route
            if let refusal = refusal(of: request, route) { return .refuse(refusal) }
            return .handle(route)
        }
    }

    /// What the headers alone are refused for, before any of the body is read.
    private func refusal(of request: Request, _ route: Route) -> Response? {
        if let length = declaredLength, length > route.bodyBytesMax { return Self.tooLarge(route) }
        let encoding = headers["Content-Encoding"]?.lowercased() ?? "identity"
        guard ["identity", "gzip", "x-gzip", ""].contains(encoding) else {
            return .error(
                415, reason: "encoding", "unknown Content-Encoding",
                hint: "Send gzip or no encoding."
            ).with("Accept-Encoding", "gzip")
        }
        if settings.crossOrigin.refuses(request.method, headers, path: request.path) {
            return .error(
                403, reason: "origin", "pages of this site may not send here",
                hint: "The operator can allow it with --cors-origin.")
        }
        return route.admit(request)
    }

    private func preflight(_ request: Request, _ answer: Response) -> Response? {
        guard request.method == .options, answer.status == 204 else { return nil }
        return settings.crossOrigin.preflight(
            headers, path: request.path, allowed: answer.headers["Allow"] ?? "")
    }

    /// The response with what browsers need to see.
    func marked(_ response: Response) -> Response {
        marked(response, origin: headers["Origin"])
    }

    /// The response to who names no site.
    func markedForNoSite(_ response: Response) -> Response { marked(response, origin: nil) }

    private func marked(_ response: Response, origin: String?) -> Response {
        guard let path else { return response }
        var response = response
        settings.crossOrigin.mark(&response, origin: origin, path: path)
        return response
    }

    /// Two readers of a chain must not see two different ends of a request.
    private var framingRefusal: Response? {
        let lengths = headers.values("Content-Length")
        let encodings = headers.list("Transfer-Encoding").map { $0.lowercased() }
        let isLengthGood = lengths.allSatisfy { length in
            length == lengths[0] && !length.isEmpty
                && length.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        }
        if isLengthGood && (encodings.isEmpty || (lengths.isEmpty && encodings == ["chunked"])) {
            return nil
        }
        return .error(
            400, reason: "framing", "ambiguous length of the body",
            hint: "Send one Content-Length, or Transfer-Encoding: chunked.")
    }

    static func tooLarge(_ route: Route) -> Response {
        .error(
            413, reason: "too_large", "the body is too large",
            hint: "At most \(route.bodyBytesMax) bytes, also after decoding; send smaller batches.")
    }

    private static let busy = Response.error(
        503, reason: "bodies", "too many bodies are being received",
        hint: "Nothing of this one was used: send it again."
    ).with("Retry-After", "1")

    private static let busyAddress = Response.error(
        429, reason: "address_bodies", "this address is sending too many bodies at once",
        hint: "Nothing of this one was used: send it again when others are through."
    ).with("Retry-After", "1")

    /// Takes a piece of the body; false: the connection has to be cut.
    func receive(_ piece: UnsafeRawBufferPointer) -> Bool {
        switch plan {
        case .handle(let route):
            guard body.count + piece.count <= route.bodyBytesMax else {
                return refuseNow(Self.tooLarge(route)) && drain(piece.count)
            }
            do {
                try bodies.takeArriving(piece.count, from: sender)
            } catch {
                let refusal = error == .address ? Self.busyAddress : Self.busy
                return refuseNow(refusal) && drain(piece.count)
            }
            lent += piece.count
            arriving += piece.count
            unsafe body.append(contentsOf: piece)
            return true
        case .refuse, .answered: return drain(piece.count)
        case .undecided, .reuse: return false
        }
    }

    /// The body is complete, or given up.
    private func endArrival() {
        guard arriving > 0 else { return }
        bodies.arrived(arriving, from: sender)
        arriving = 0
    }

    /// Gives back the memory of the body; to be called when the request is over.
    func releaseBody() {
        body = []
        endArrival()
        guard lent > 0 else { return }
        bodies.give(lent)
        lent = 0
    }

    private func drain(_ count: Int) -> Bool {
        drained += count
        return drained <= Self.drainBytesMax
    }

    /// Answers while the body is still coming, which the library cannot: the answer is written to
    /// the socket here, and what follows is read and dropped for a while, so that the client does
    /// not lose the answer to a reset. With TLS the answer waits for the end of the body.
    func refuseNow(_ response: Response) -> Bool {
        let response = marked(response)
        let route = routeLabel
        releaseBody()
        plan = .refuse(response)
        guard !isTLS else { return true }
        var text = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\n"
        for (name, value) in response.headers.fields { text += "\(name): \(value)\r\n" }
        text += "Content-Length: \(response.bytes.count)\r\nConnection: close\r\n\r\n"
        let bytes = Array(text.utf8) + response.bytes
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        // As many bytes as the array has; nothing of this answer was sent before.
        guard unsafe send(connection.descriptor, bytes, bytes.count, flags) == bytes.count else {
            return false
        }
        plan = .answered
        // Before the end of the connection, so that who has seen the end sees the count.
        isAnswered = true
        meters.answered(route: route, response, nanoseconds: 0)
        shutdown(connection.descriptor, Int32(SHUT_WR))
        connection.mustBeDone(by: SystemClock.monotonicMilliseconds() + Self.drainMilliseconds)
        return true
    }

    private static func reason(_ status: Int) -> String {
        // Static text of the library.
        unsafe MHD_get_reason_phrase_for(UInt32(status)).map { unsafe String(cString: $0) } ?? ""
    }

    /// The answer to the complete request.
    func answer() -> Response {
        switch plan {
        case .refuse(let response): return marked(response)
        case .handle(let route):
            guard var request else { break }
            endArrival()
            request.body = body
            body = []
            if headers["Content-Encoding"]?.lowercased().hasSuffix("gzip") == true {
                switch decoded(request.body, route) {
                case .success(let bytes): request.body = bytes
                case .failure(let refusal): return marked(refusal.response)
                }
            }
            return compressed(marked(route.handler(request)))
        case .undecided, .answered, .reuse: break
        }
        preconditionFailure("a request is answered once, after it was decided")
    }

    private struct Refusal: Error {
        var response: Response
    }

    private func decoded(_ bytes: [UInt8], _ route: Route) -> Result<[UInt8], Refusal> {
        do {
            try bodies.take(route.bodyBytesMax)
        } catch {
            return .failure(Refusal(response: Self.busy))
        }
        lent += route.bodyBytesMax
        do {
            return .success(try Gzip.decoded(bytes, bytesMax: route.bodyBytesMax))
        } catch {
            return .failure(
                Refusal(
                    response: error == .tooLarge
                        ? Self.tooLarge(route)
                        : .error(
                            400, reason: "gzip", "the gzip body is damaged", hint: "Send it again.")
                ))
        }
    }

    /// Bodies below it gain nothing.
    static let compressBytesMin = 1_024

    private func compressed(_ response: Response) -> Response {
        guard case .bytes(let bytes) = response.body, bytes.count >= Self.compressBytesMin,
            response.headers["Content-Encoding"] == nil,
            Self.isText(response.headers["Content-Type"] ?? "")
        else { return response }
        var response = response
        response.headers.add("Vary", "Accept-Encoding")
        guard acceptsGzip, let smaller = Gzip.encoded(bytes), smaller.count < bytes.count else {
            return response
        }
        response.headers.add("Content-Encoding", "gzip")
        if let tag = response.headers["ETag"], !tag.hasPrefix("W/") {
            // Another encoding is another representation: no longer equal byte for byte.
            response.headers.set("ETag", "W/" + tag)
        }
        response.body = .bytes(smaller)
        return response
    }

    private var acceptsGzip: Bool {
        headers.list("Accept-Encoding").contains { item in
            let parts = item.split(separator: ";").map { $0.trimmingSpaces().lowercased() }
            guard let name = parts.first, name == "gzip" || name == "*" else { return false }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            return quality.map { (Double($0) ?? 0) > 0 } ?? true
        }
    }

    private static func isText(_ type: String) -> Bool {
        type.hasPrefix("text/") && !type.hasPrefix("text/event-stream")
            || type.hasPrefix("application/json") || type.hasPrefix("image/svg")
            || type.hasPrefix("application/x-ndjson") || type.hasPrefix("application/javascript")
    }
}
