// The gate: uploads in over HTTP, records into the log, an answer once the log has them.

import BrakeModel
import BrakeWire
package import EventLog
package import HTTPServer
package import Runtime

/// Answers `POST /v1/events`. Bad events do not stop good ones: each is rejected with its reason,
/// in the answer and in the dead topic. Nothing that was answered with 202 is lost.
package struct Collector: Sendable {
    /// Dead letters kept of one upload; more are counted only, so that a flood stays small.
    static let deadLettersMax = 20
    private static let retryAfterSeconds = "1"

    private let log: any EventLog
    private let keys: @Sendable () -> CollectorKeys?
    private let logger: Logger
    private let metrics: CollectMetrics
    private let splitters = SplitterPool()

    /// A collector that asks for its keys at each upload, so that they can be replaced while it
    /// runs; nil: open to everyone who can connect.
    package init(
        log: any EventLog, keys: @escaping @Sendable () -> CollectorKeys?, logger: Logger,
        metrics: CollectMetrics
    ) {
        self.log = log
        self.keys = keys
        self.logger = logger
        self.metrics = metrics
    }

    package var routes: [Route] {
        [
            Route(.post, "/v1/events", bodyBytesMax: UploadSplitter.uploadBytesMax) { request in
                let response = answer(request)
                if response.status >= 400 { metrics.refused(response.status) }
                return response
            }
        ]
    }

    private func answer(_ request: Request) -> Response {
        var scope = CollectorKeys.Scope.all
        if let keys = keys() {
            guard let token = request.bearerToken, let known = keys.scope(of: token) else {
                return Response.error(
                    401, "no app key, or one that is not known",
                    hint: "send the app key as `Authorization: Bearer KEY`"
                ).with("WWW-Authenticate", "Bearer")
            }
            scope = known
        }
        var apps: Set<AppID>?
        if case .apps(let allowed) = scope { apps = allowed }
        let split = splitters.withSplitter { splitter -> Result<Upload, UploadRefusal> in
            Result { () throws(UploadRefusal) in
                unsafe try Self.withBytes(request.body) { bytes throws(UploadRefusal) in
                    unsafe try splitter.split(bytes, apps: apps)
                }
            }
        }
        switch split {
        case .success(let upload):
            if apps != nil, Self.isOfOtherApps(upload) {
                return .error(
                    403, "the key is not for the apps of these events",
                    hint: "each key is allowed some apps only")
            }
            return append(upload, body: request.body)
        case .failure(let refusal): return Self.response(refusal)
        }
    }

    private static func withBytes<Value>(
        _ body: [UInt8], _ use: (UnsafeRawBufferPointer) throws(UploadRefusal) -> Value
    ) throws(UploadRefusal) -> Value {
        let result = unsafe body.withUnsafeBytes { bytes in
            Result { () throws(UploadRefusal) in unsafe try use(bytes) }
        }
        return try result.get()
    }

    /// Whether all of it was rejected because the key is not for its apps.
    private static func isOfOtherApps(_ upload: Upload) -> Bool {
        upload.records.isEmpty && !upload.rejected.isEmpty
            && upload.rejected.allSatisfy { $0.reason == .wrongApp }
    }

    private func append(_ upload: Upload, body: [UInt8]) -> Response {
        var outgoing = upload.records.map { record in
            let key = Array(record.app.text.utf8)
            return OutgoingRecord(
                Topic(record.type),
                partition: Partitioner.partition(of: key, partitions: log.partitions),
                key: key, value: record.value)
        }
        outgoing += letters(upload.rejected, body: body)
        let begun = SystemClock.monotonicNanoseconds()
        do throws(LogFault) {
            try log.append(outgoing)
        } catch {
            logger.warning("an upload could not be appended", ["fault": LogValue(error)])
            return Response.error(
                503, "the log cannot take events at present",
                hint: "nothing of this upload was acknowledged: send it again"
            ).with("Retry-After", Self.retryAfterSeconds)
        }
        metrics.appended(seconds: Double(SystemClock.monotonicNanoseconds() - begun) / 1e9)
        for record in upload.records { metrics.accepted(record.type, record.count) }
        for event in upload.rejected { metrics.rejected(event.reason) }
        return .json(upload.answer(), status: 202)
    }

    private func letters(_ rejected: [RejectedEvent], body: [UInt8]) -> [OutgoingRecord] {
        let now = SystemClock.wallMilliseconds()
        return rejected.prefix(Self.deadLettersMax).map { event in
            let letter = unsafe body.withUnsafeBytes { bytes in
                unsafe DeadLetter(
                    topic: "upload", partition: -1, offset: -1, append: now, event: event,
                    value: bytes)
            }
            return OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode())
        }
    }

    private static func response(_ refusal: UploadRefusal) -> Response {
        let shape = "send a JSON array of events, one event, or one event a line"
        return switch refusal {
        case .empty: .error(400, "the upload is empty", hint: shape)
        case .badJSON: .error(400, "the upload is not JSON", hint: shape)
        case .notEvents: .error(400, "the upload holds no events", hint: shape)
        case .tooLarge:
            .error(
                413, "the upload is too large",
                hint: "at most \(UploadSplitter.uploadBytesMax) bytes, unpacked: send several")
        case .tooManyEvents:
            .error(
                413, "the upload has too many events",
                hint: "at most \(UploadSplitter.eventsMax): send several")
        }
    }
}
