// The endpoint of Sentry's SDKs: `POST /api/{project}/envelope/`.

import BrakeModel
import BrakeWire
import HTTPServer

/// Takes envelopes. What has no meaning here is counted and answered as if it had: an SDK must not
/// keep it, retry it or complain.
struct SentryEndpoint: Sendable {
    let foreign: ForeignIntake
    let parsers: ParserPool

    private var gatekeeper: Gatekeeper { foreign.gatekeeper }

    var routes: [Route] {
        ["/api/{project}/envelope/", "/api/{project}/envelope"].map { pattern in
            Route(
                .post, pattern, bodyBytesMax: ForeignLimits.bodyBytesMax, admit: admit, answer)
        }
    }

    private func admit(_ request: Request) -> Response? {
        // A key that is only in the envelope is looked at once that is there.
        guard let key = Self.key(of: request) else {
            if case .success(let pass) = gatekeeper.pass(request, key: nil) {
                return refusal(pass, request)
            }
            return (gatekeeper.refusal(ofStranger: request) ?? foreign.intake.refusal).map(
                Self.told)
        }
        switch gatekeeper.pass(request, key: key) {
        case .failure(let denial): return Self.told(denial.response)
        case .success(let pass): return refusal(pass, request)
        }
    }

    private func refusal(_ pass: Pass, _ request: Request) -> Response? {
        if pass.grant.app(ofProject: request.parameter("project")) == nil {
            return Self.told(Self.wrongProject)
        }
        return (gatekeeper.refusal(pass) ?? foreign.intake.refusal).map(Self.told)
    }

    private static let wrongProject = Response.error(
        403, reason: "project", "the key is not for this project",
        hint: "Name the project's app in the keys file: project=NUMBER:APP.")

    private func answer(_ request: Request) -> Response {
        let response = parsers.withParsers { answer(request, with: $0) }
        return response ?? Self.told(Intake.noParser)
    }

    private func answer(_ request: Request, with parsers: Parsers) -> Response {
        guard let envelope = SentryEnvelope(request.body, parsers.documents) else {
            return Self.told(
                .error(
                    400, reason: "envelope", "this is not an envelope",
                    hint: "Its first line is a JSON object."))
        }
        let key = Self.key(of: request)
        let pass: Pass
        switch gatekeeper.pass(request, key: key ?? envelope.key) {
        case .failure(let denial): return Self.told(denial.response)
        case .success(let found): pass = found
        }
        if key == nil, !pass.key.isEmpty, let refusal = refusal(pass, request) { return refusal }
        guard let app = pass.grant.app(ofProject: request.parameter("project")) else {
            return Self.told(Self.wrongProject)
        }
        let events = envelope.events(app: app, of: request.body, parsers.documents)
        switch foreign.take(events, pass, with: parsers.splitter) {
        case .refused(let refusal): return Self.told(refusal)
        case .taken:
            let id = envelope.eventID.map { "{\"id\":\"\($0)\"}" } ?? "{}"
            return .json(Array(id.utf8))
        }
    }

    /// The public key, from where SDKs put it: a header, or the query.
    private static func key(of request: Request) -> String? {
        for name in ["X-Sentry-Auth", "Authorization"] {
            guard let value = request.headers[name], value.lowercased().hasPrefix("sentry ") else {
                continue
            }
            for field in value.dropFirst("sentry ".count).split(separator: ",") {
                let parts = field.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0].filter({ $0 != " " }) == "sentry_key" {
                    return String(parts[1].filter { $0 != " " })
                }
            }
        }
        return request.query("sentry_key")
    }

    /// The refusal with what the SDKs look at.
    private static func told(_ response: Response) -> Response {
        guard response.status == 429 || response.status == 503 else { return response }
        let seconds = response.headers["Retry-After"] ?? "1"
        // For all kinds of items, of the whole key.
        return response.with("X-Sentry-Rate-Limits", "\(seconds)::key")
    }
}
