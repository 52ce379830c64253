// A collector and an edge for tests, on a real socket: it answers what a test tells it to.
import BrakeModel
import HTTPServer
import Runtime

@testable import Traffic

/// Takes uploads and states apps.
final class ServiceDouble: Sendable {
    struct State: Sendable {
        var uploads: [FleetUpload] = []
        var tokens: Set<String> = []
        var attempts = 0
        var stateRequests = 0
        var notModified = 0
        /// By app; unknown apps are in Caution.
        var states: [String: ThrottleState] = [:]
        var revision = 1
    }

    let state = Monitor(State())
    private let listener: HTTPListener

    /// `answer` may refuse the upload of this attempt, counted from 0; nil takes it.
    init(_ answer: @escaping @Sendable (_ attempt: Int) -> Response? = { _ in nil }) throws {
        let state = state
        let collect = Route(.post, "/v1/events", bodyBytesMax: 1 << 20) { request in
            let attempt = state.withLock { state in
                state.attempts += 1
                return state.attempts - 1
            }
            if let refusal = answer(attempt) { return refusal }
            let upload = FleetUpload(bytes: request.body, events: Self.count(request.body))
            state.withLock { state in
                if let token = request.bearerToken { state.tokens.insert(token) }
                state.uploads.append(upload)
            }
            let text = "{\"accepted\":\(upload.events),\"rejected\":[]}"
            return .json(Array(text.utf8), status: 202)
        }
        let states = Route(.get, "/v1/apps/{app}") { request in
            let app = request.parameter("app")
            return state.withLock { state in
                state.stateRequests += 1
                let tag = "\"\(state.revision)\""
                if request.headers["If-None-Match"] == tag {
                    state.notModified += 1
                    return Response(304).with("ETag", tag)
                }
                let word = (state.states[app] ?? .caution).name
                let text =
                    #"{"app":"\#(app)","state":"\#(word)","revision":\#(state.revision)}"#
                return Response.json(Array(text.utf8)).with("ETag", tag)
            }
        }
        listener = HTTPListener(
            "double", .init(address: ListenAddress(host: "127.0.0.1", port: 0)),
            router: Router([collect, states]),
            log: Logger(part: "double", level: .error, to: CapturedLog()), metrics: Metrics())
        try listener.start()
    }

    var url: String { "http://127.0.0.1:\(listener.port)" }

    func stop() { listener.stop() }

    /// Every record names its type once.
    private static func count(_ body: [UInt8]) -> Int {
        let mark = Array(#"{"type":"#.utf8)
        return body.indices.count { body[$0...].starts(with: mark) }
    }
}
