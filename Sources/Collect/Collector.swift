// The gate: uploads in over HTTP, records into the log, an answer once the log has them.

import BrakeModel
import BrakeWire
package import EventLog
package import HTTPServer
package import Runtime

/// Answers `POST /v1/events`, and the endpoints of other protocols. Bad events do not stop good
/// ones: each is rejected with its reason, in the answer and in the dead topic. Nothing that was
/// acknowledged is lost.
package struct Collector: Sendable {
    /// The most bytes of an `Idempotency-Key`.
    static let idempotencyKeyBytesMax = 255

    private let gatekeeper: Gatekeeper
    private let intake: Intake
    private let repeats: RepeatMemory
    private let parsers = ParserPool()
    private let metrics: CollectMetrics
    private let clocks: Clocks

    /// A collector that asks for its keys at each upload, so that they can be replaced while it
    /// runs; nil: open to everyone who can connect.
    package init(
        log: any EventLog, keys: @escaping @Sendable () -> CollectorKeys?,
        settings: CollectSettings = CollectSettings(), logger: Logger, metrics: CollectMetrics,
        clocks: Clocks = .system
    ) {
        let room = WaitingRoom(settings)
        gatekeeper = Gatekeeper(keys: keys, settings, clocks)
        intake = Intake(log: log, room: room, logger: logger, metrics: metrics, clocks: clocks)
        repeats = RepeatMemory(settings)
        metrics.watch(room, repeats)
        self.metrics = metrics
        self.clocks = clocks
    }

    package var routes: [Route] {
        [
            Route(
                .post, "/v1/events", bodyBytesMax: UploadSplitter.uploadBytesMax, admit: admit,
                answer)
        ]
            + SentryEndpoint(foreign: foreign("sentry"), parsers: parsers).routes
            + OTLPEndpoint(foreign: foreign("otlp"), parsers: parsers).routes
    }

    private func foreign(_ name: String) -> ForeignIntake {
        ForeignIntake(name: name, gatekeeper: gatekeeper, intake: intake, metrics: metrics)
    }

    /// Looks at a request before its body is read.
    private func admit(_ request: Request) -> Response? {
        if let refusal = Self.repeatKeyRefusal(request) { return refusal }
        switch gatekeeper.pass(request, key: request.bearerToken) {
        case .failure(let denial): return denial.response
        case .success(let pass): return gatekeeper.refusal(pass) ?? intake.refusal
        }
    }

    private static func repeatKeyRefusal(_ request: Request) -> Response? {
        guard let key = request.headers["Idempotency-Key"],
            key.isEmpty || key.utf8.count > idempotencyKeyBytesMax
        else { return nil }
        return .error(
            400, reason: "idempotency_key", "the Idempotency-Key is empty or too long",
            hint: "1 to \(idempotencyKeyBytesMax) bytes, a UUID for each upload.")
    }

    private func answer(_ request: Request) -> Response {
        switch gatekeeper.pass(request, key: request.bearerToken) {
        case .failure(let denial): denial.response
        case .success(let pass):
            if let text = request.headers["Idempotency-Key"] {
                answerOnce(request, pass, RepeatMemory.Key(sender: pass.key, text: text))
            } else {
                answer(request, pass)
            }
        }
    }

    /// Answers an upload that may have been sent before.
    private func answerOnce(
        _ request: Request, _ pass: Pass, _ key: RepeatMemory.Key
    ) -> Response {
        let hash = unsafe request.body.withUnsafeBytes { unsafe StableHash.of($0) }
        switch repeats.begin(key, body: hash, now: clocks.monotonicMilliseconds()) {
        case .first:
            let response = answer(request, pass)
            repeats.finish(
                key, answer: response.status == 202 ? response.bytes : nil,
                now: clocks.monotonicMilliseconds())
            return response
        case .repeated(let bytes):
            metrics.repeated()
            return Response.json(bytes, status: 202).with("Idempotency-Replayed", "true")
        case .otherBody:
            return .error(
                422, reason: "idempotency_mismatch",
                "another upload had this Idempotency-Key",
                hint: "A key is for one upload and its repeats, byte for byte.")
        case .unfinished:
            return Response.error(
                503, reason: "idempotency_unfinished",
                "the first upload with this Idempotency-Key still waits for the log",
                hint: "Send it again."
            ).with("Retry-After", "1")
        }
    }

    private func answer(_ request: Request, _ pass: Pass) -> Response {
        let split = parsers.withParsers { parsers in
            Self.split(request.body, with: parsers.splitter, pass.grant.scope)
        }
        guard let split else { return Intake.noParser }
        switch split {
        case .failure(let refusal): return Self.response(refusal)
        case .success(let upload):
            gatekeeper.charge(pass, events: upload.accepted + upload.rejected.count)
            if Self.isOfOtherApps(upload) {
                return .error(
                    403, reason: "wrong_app", "the key is not for the apps of these events",
                    hint: "Each key is allowed some apps only.")
            }
            let delivery = Delivery(upload: upload, body: request.body)
            return intake.take([delivery]) ?? .json(upload.answer(), status: 202)
        }
    }

    static func split(
        _ body: [UInt8], with splitter: UploadSplitter, _ scope: CollectorKeys.Scope
    ) -> Result<Upload, UploadRefusal> {
        var apps: Set<AppID>?
        if case .apps(let allowed) = scope { apps = allowed }
        return unsafe body.withUnsafeBytes { bytes in
            Result { () throws(UploadRefusal) in unsafe try splitter.split(bytes, apps: apps) }
        }
    }

    /// Whether all of it was rejected because the key is not for its apps.
    private static func isOfOtherApps(_ upload: Upload) -> Bool {
        upload.records.isEmpty && !upload.rejected.isEmpty
            && upload.rejected.allSatisfy { $0.reason == .wrongApp }
    }

    private static func response(_ refusal: UploadRefusal) -> Response {
        let shape = "Send a JSON array of events, one event, or one event a line."
        return switch refusal {
        case .empty: .error(400, reason: "empty", "the upload is empty", hint: shape)
        case .badJSON: .error(400, reason: "bad_json", "the upload is not JSON", hint: shape)
        case .notEvents:
            .error(400, reason: "not_events", "the upload holds no events", hint: shape)
        case .tooLarge:
            .error(
                413, reason: "too_large", "the upload is too large",
                hint: "At most \(UploadSplitter.uploadBytesMax) bytes, unpacked: send several.")
        case .tooManyEvents:
            .error(
                413, reason: "too_many_events", "the upload has too many events",
                hint: "At most \(UploadSplitter.eventsMax): send several.")
        }
    }
}
