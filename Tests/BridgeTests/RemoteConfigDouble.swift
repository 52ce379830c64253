// Remote Config as its public reference has it, in so far as the bridge can tell: tags that come
// with gzip only, versions with authors, refusals, and people who publish at the same time.
import BrakeWire
import HTTPServer
import Runtime

@testable import Bridge

/// The service, listening on loopback.
final class RemoteConfigDouble: Sendable {
    struct Version {
        var number: Int
        var author: String
        var description: String
        var template: String
    }

    struct State {
        var versions: [Version] = []
        /// What people do right before the next writings are looked at.
        var interruptions: [@Sendable (RemoteConfigDouble) -> Void] = []
        /// Answers instead of the next ones, by "METHOD path end".
        var refusals: [(call: String, status: Int, retryAfter: Int?)] = []
        var hidesTags = false
        var tokens: Set<String> = []
        var proofs: [String] = []
        var calls: [String] = []
        var written: [String] = []
        /// Rules of the service that were broken.
        var complaints: [String] = []
    }

    static let person = "person@example.com"

    let state = Monitor(State())
    private let listening = Monitor<HTTPListener?>(nil)

    init(_ template: String) throws {
        publish(template, author: Self.person)
        let listener = HTTPListener(
            "double", HTTPListener.Settings(address: ListenAddress(host: "127.0.0.1", port: 0)),
            router: Router(routes), log: Logger(part: "double", to: SilentSink()),
            metrics: Metrics())
        try listener.start()
        listening.withLock { $0 = listener }
    }

    /// To be called once: its listener's routes hold it.
    func close() {
        let listener = listening.withLock { listening in
            defer { listening = nil }
            return listening
        }
        listener?.stop()
    }

    var url: String { "http://127.0.0.1:\(listening.read { $0?.port ?? 0 })" }

    /// As a person does in the console, or the service itself once it has taken a template.
    func publish(_ template: String, author: String, description: String = "") {
        state.withLock { state in
            state.versions.append(
                Version(
                    number: state.versions.count + 1, author: author, description: description,
                    template: template))
        }
    }

    var newest: Version { state.read { $0.versions[$0.versions.count - 1] } }
    var count: Int { state.read { $0.versions.count } }
    var complaints: [String] { state.read { $0.complaints } }

    private func tag(_ version: Version) -> String { "etag-111111111111-\(version.number)" }

    /// With the version's object, as the service adds it to what was published.
    private static func told(_ version: Version) -> String {
        let words = JSONText.quoted(version.description)
        let object =
            #""version":{"versionNumber":"\#(version.number)","updateTime":"2026-01-01T00:00:00Z","#
            + #""updateUser":{"email":"\#(version.author)"},"updateOrigin":"REST_API","#
            + #""updateType":"INCREMENTAL_UPDATE","description":\#(words)}"#
        let bytes = Array(version.template.utf8)
        guard var spans = JSONSpans(bytes, bytesMax: 1 << 20) else { return version.template }
        spans.append(Array(object.utf8), to: spans.root)
        return String(decoding: spans.edited(), as: UTF8.self)
    }

    private var routes: [Route] {
        let path = "/v1/projects/test-project/remoteConfig"
        return [
            Route(.post, "/token", bodyBytesMax: 1 << 16) { self.answer($0, self.token) },
            Route(.get, path) { self.answer($0, self.read) },
            Route(.put, path, bodyBytesMax: 1 << 20) { self.answer($0, self.write) },
            Route(.get, path + ":listVersions") { self.answer($0, self.list) },
        ]
    }

    private func answer(_ request: Request, _ usual: (Request) -> Response) -> Response {
        let call = "\(request.method.rawValue) \(request.path)"
        let refusal = state.withLock { state in
            state.calls.append(call)
            let index = state.refusals.firstIndex { call.hasSuffix($0.call) }
            return index.map { state.refusals.remove(at: $0) }
        }
        if let refusal {
            let response = error(refusal.status, "scripted")
            return refusal.retryAfter.map { response.with("Retry-After", String($0)) } ?? response
        }
        if request.path != "/token" {
            let isKnown = state.read { $0.tokens.contains(request.bearerToken ?? "") }
            if !isKnown { return error(401, "Request had invalid authentication credentials.") }
        }
        return usual(request)
    }

    private func error(_ status: Int, _ message: String) -> Response {
        .json(
            Array(#"{"error":{"code":\#(status),"message":"\#(message)"}}"#.utf8), status: status)
    }

    private func complain(_ text: String) { state.withLock { $0.complaints.append(text) } }

    private func token(_ request: Request) -> Response {
        let start =
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        let body = String(decoding: request.body, as: UTF8.self)
        let proof = String(body.dropFirst(start.count))
        let parts = proof.split(separator: ".")
        // By RS256 equal texts have equal signatures.
        let signed = parts.prefix(2).joined(separator: ".")
        let signature = try? ServiceAccount.signature(
            of: Array(signed.utf8), key: TestAccount.key)
        guard body.hasPrefix(start), parts.count == 3,
            String(parts[2]) == signature.map(Base64URL.text)
        else {
            complain("a bad proof")
            return .json(Array(#"{"error":"invalid_grant"}"#.utf8), status: 400)
        }
        return state.withLock { state in
            state.proofs.append(proof)
            let token = "token-\(state.proofs.count)"
            state.tokens = [token]
            return .json(
                Array(
                    #"{"access_token":"\#(token)","expires_in":3600,"token_type":"Bearer"}"#.utf8))
        }
    }

    private func read(_ request: Request) -> Response {
        var version = newest
        if let number = request.query("versionNumber").flatMap({ Int($0) }) {
            guard let old = state.read({ $0.versions.first { $0.number == number } }) else {
                return error(404, "no such version")
            }
            version = old
        }
        return tagged(Array(Self.told(version).utf8), version, request)
    }

    /// The tag comes with gzip only.
    private func tagged(_ bytes: [UInt8], _ version: Version, _ request: Request) -> Response {
        let asksGzip = request.headers.list("Accept-Encoding").contains { $0.hasPrefix("gzip") }
        guard asksGzip, !state.read({ $0.hidesTags }), let small = Gzip.encoded(bytes) else {
            return .json(bytes)
        }
        return Response.json(small).with("Content-Encoding", "gzip").with("ETag", tag(version))
    }

    private func write(_ request: Request) -> Response {
        let interruption = state.withLock { state in
            state.interruptions.isEmpty ? nil : state.interruptions.removeFirst()
        }
        interruption?(self)
        guard let condition = request.headers["If-Match"] else {
            complain("a writing without If-Match")
            return error(400, "If-Match header is missing")
        }
        if condition == "*" { complain("a writing over whatever is there") }
        guard condition == tag(newest) else { return error(412, "ETag mismatch") }
        let text = String(decoding: request.body, as: UTF8.self)
        guard let document = DocumentReader().read(request.body) else {
            complain("a template that is no JSON")
            return error(400, "invalid JSON")
        }
        let description = document["version"]?["description"]?.text ?? ""
        if description.utf8.count > 256 { complain("a description that is too long") }
        if document["version"]?.fields?.count != 1 { complain("a version that is not ours to set") }
        guard let kept = Self.withoutVersion(request.body) else { return error(400, "no version") }
        state.withLock { $0.written.append(text) }
        publish(kept, author: TestAccount.email, description: description)
        return tagged(Array(Self.told(newest).utf8), newest, request)
    }

    /// What the service keeps of a template is all but the version.
    private static func withoutVersion(_ bytes: [UInt8]) -> String? {
        guard var spans = JSONSpans(bytes, bytesMax: 1 << 20) else { return nil }
        let members = spans.members(of: spans.root)
        guard let index = members.firstIndex(where: { $0.key == "version" }) else { return nil }
        let start =
            index > 0 ? members[index - 1].value.upperBound : spans.root.lowerBound + 1
        var end = members[index].value.upperBound
        // Its own comma, when there is none before it.
        if index == 0, members.count > 1 {
            end = (bytes[end...].firstIndex(of: UInt8(ascii: ",")) ?? end) + 1
        }
        spans.replace(start..<end, by: [])
        return String(decoding: spans.edited(), as: UTF8.self)
    }

    private func list(_ request: Request) -> Response {
        let versions = state.read { $0.versions }.reversed().map { version in
            #"{"versionNumber":"\#(version.number)","updateUser":{"email":"\#(version.author)"}}"#
        }
        return .json(Array(#"{"versions":[\#(versions.joined(separator: ","))]}"#.utf8))
    }
}

struct SilentSink: LogSink {
    func write(_ line: LogLine) {}
}
