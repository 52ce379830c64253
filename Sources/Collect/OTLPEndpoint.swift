// The endpoint of OpenTelemetry's exporters: `POST /v1/logs`, OTLP over HTTP.

import BrakeModel
import BrakeWire
import HTTPServer

/// Takes log records in both encodings.
struct OTLPEndpoint: Sendable {
    private static let json = "application/json"
    private static let protobuf = "application/x-protobuf"

    let foreign: ForeignIntake
    let parsers: ParserPool

    private var gatekeeper: Gatekeeper { foreign.gatekeeper }

    var routes: [Route] {
        [
            Route(
                .post, "/v1/logs", bodyBytesMax: ForeignLimits.bodyBytesMax, admit: admit, answer)
        ]
    }

    private func admit(_ request: Request) -> Response? {
        guard let isJSON = Self.isJSON(request) else {
            return .error(
                415, reason: "content_type", "unknown Content-Type",
                hint: "Send \(Self.protobuf) or \(Self.json).")
        }
        switch gatekeeper.pass(request, key: request.bearerToken) {
        case .failure(let denial): return Self.told(denial.response, isJSON)
        case .success(let pass):
            return (gatekeeper.refusal(pass) ?? foreign.intake.refusal).map {
                Self.told($0, isJSON)
            }
        }
    }

    private static func isJSON(_ request: Request) -> Bool? {
        let type = request.headers["Content-Type"]?.prefix { $0 != ";" }.lowercased() ?? ""
        return type == json ? true : type == protobuf ? false : nil
    }

    private func answer(_ request: Request) -> Response {
        let isJSON = Self.isJSON(request) ?? true
        switch gatekeeper.pass(request, key: request.bearerToken) {
        case .failure(let denial): return Self.told(denial.response, isJSON)
        case .success(let pass):
            let response = parsers.withParsers { answer(request, pass, isJSON, with: $0) }
            return response ?? Self.told(Intake.noParser, isJSON)
        }
    }

    private func answer(
        _ request: Request, _ pass: Pass, _ isJSON: Bool, with parsers: Parsers
    ) -> Response {
        guard !isJSON || request.body.count <= ForeignLimits.documentBytesMax else {
            return Self.told(
                .error(
                    413, reason: "too_large", "the JSON is too large",
                    hint: "At most \(ForeignLimits.documentBytesMax) bytes: send protobuf, or less."
                ),
                true)
        }
        let logs =
            isJSON
            ? OTLPLogs(json: request.body, parsers.documents) : OTLPLogs(protobuf: request.body)
        guard let logs else {
            return Self.told(
                .error(
                    400, reason: "otlp", "this is not a request of OTLP for logs",
                    hint: "Content-Type and body have to agree."), isJSON)
        }
        let events = logs.events { pass.grant.app(named: $0) }
        switch foreign.take(events, pass, with: parsers.splitter) {
        case .refused(let refusal): return Self.told(refusal, isJSON)
        case .taken(let rejected):
            let left = logs.count - events.count
            let answer = OTLPAnswer.success(
                rejected: left + rejected, message: Self.message(events, rejected), isJSON: isJSON)
            return Self.response(200, answer, isJSON)
        }
    }

    /// Why records were not used; the words are those of the metric.
    private static func message(_ events: ForeignEvents, _ rejected: Int) -> String {
        var parts = events.ignored.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        if rejected > 0 { parts.append("\(rejected) rejected") }
        return "not used: " + parts.joined(separator: ", ")
            + ". AdBrake takes session.start, session.end, app.crash and exceptions."
    }

    private static func response(_ status: Int, _ body: [UInt8], _ isJSON: Bool) -> Response {
        Response(
            status, headers: Headers([("Content-Type", isJSON ? json : protobuf)]), body: body)
    }

    /// The refusal as a status message, which is what exporters read.
    private static func told(_ response: Response, _ isJSON: Bool) -> Response {
        var told = response
        let message = OTLPAnswer.failure(response.message, isJSON: isJSON)
        told.body = .bytes(message)
        told.headers.set("Content-Type", isJSON ? json : protobuf)
        return told
    }
}
