// What the outside can send us, tried with any bytes: each subject takes them and checks what must
// hold whatever they are. Used by the fuzzer, and by tests over what the fuzzer has found.

import BrakeModel
import BrakeWire
import HTTPServer

/// A door that bytes come in through. Public for the fuzzer's program, which is no target of ours.
public enum FuzzSubject: String, CaseIterable, Sendable {
    /// A record of an input, and a line of a replay file.
    case decoder
    /// The body of an upload.
    case upload
    /// A record that is retried.
    case retry
    /// An envelope of Sentry's SDKs.
    case sentry
    /// Logs of OTLP, as protocol buffers and as JSON.
    case otlp
    /// Records of our own topics, and policies.
    case records
    /// Request targets, and packed bodies.
    case request
    /// Whatever reaches the port.
    case http

    /// Tries the bytes; what must hold and does not is a trap.
    public func take(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .decoder: unsafe Self.decode(bytes)
        case .upload: unsafe Self.upload(bytes)
        case .retry: unsafe Self.retry(bytes)
        case .sentry: unsafe Self.sentry(bytes)
        case .otlp: unsafe Self.otlp(bytes)
        case .records: unsafe Self.records(bytes)
        case .request: unsafe Self.request(bytes)
        case .http: unsafe Self.http(bytes)
        }
    }

    private static let append: Int64 = 1_700_000_000_000

    private static func decode(_ bytes: UnsafeRawBufferPointer) {
        let decoder = EventDecoder()
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        unsafe decoder.decode(bytes, append: append, into: &batch, rejected: &rejected)
        precondition(batch.events.count <= EventDecoder.eventsMax, "no more than a record has")
        for event in batch.events {
            let end = Int(event.nameOffset) + Int(event.nameLength)
            precondition(end <= batch.names.count && event.nameLength > 0, "each has its app")
            precondition(event.meaning == .crash || event.count >= 1, "each counts")
        }
        for event in rejected { check(event, bytes.count) }
        var lines = EventBatch()
        _ = unsafe ReplayDecoder().decode(bytes, into: &lines, rejected: &rejected)
    }

    private static func check(_ event: RejectedEvent, _ count: Int) {
        guard let range = event.bytes else { return }
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "it lies in the record")
    }

    /// What the collector accepts, the evaluator must take.
    private static func upload(_ bytes: UnsafeRawBufferPointer) {
        guard let upload = try? unsafe UploadSplitter().split(bytes) else { return }
        check(upload)
        for event in upload.rejected { check(event, bytes.count) }
        precondition(
            upload.accepted + upload.rejected.count <= UploadSplitter.eventsMax, "none is made up")
        precondition(DocumentReader().read(upload.answer()) != nil, "the answer is JSON")
    }

    private static func check(_ upload: Upload) {
        let decoder = EventDecoder()
        for record in upload.records {
            var batch = EventBatch()
            var rejected: [RejectedEvent] = []
            let key = Array(record.app.text.utf8)
            unsafe record.value.withUnsafeBytes { value in
                unsafe key.withUnsafeBytes { key in
                    unsafe decoder.decode(
                        value, append: append, from: .topic(record.type, key: key), into: &batch,
                        rejected: &rejected)
                }
            }
            precondition(rejected.isEmpty, "what was accepted is not rejected: \(rejected)")
            precondition(batch.events.count == record.count, "all of it is taken")
        }
    }

    private static func retry(_ bytes: UnsafeRawBufferPointer) {
        let upload = unsafe RetryDecoder().decode([UInt8](bytes), append: append)
        check(upload)
        for event in upload.rejected { check(event, bytes.count) }
    }

    private static func sentry(_ bytes: UnsafeRawBufferPointer) {
        let bytes = unsafe [UInt8](bytes)
        let reader = DocumentReader()
        guard let app = AppID("app"), let envelope = SentryEnvelope(bytes, reader) else { return }
        check(envelope.events(app: app, of: bytes, reader))
    }

    private static func otlp(_ bytes: UnsafeRawBufferPointer) {
        let bytes = unsafe [UInt8](bytes)
        for logs in [OTLPLogs(protobuf: bytes), OTLPLogs(json: bytes, DocumentReader())] {
            guard let logs else { continue }
            check(logs.events { AppID($0 ?? "app") })
        }
    }

    /// What we make of another protocol is always an upload.
    private static func check(_ events: ForeignEvents) {
        for body in events.uploads {
            let upload = unsafe body.withUnsafeBytes { unsafe try? UploadSplitter().split($0) }
            precondition(upload != nil, "it is an upload")
            if let upload { check(upload) }
        }
    }

    private static func records(_ bytes: UnsafeRawBufferPointer) {
        let reader = DocumentReader()
        func again<Record: Equatable>(
            _ record: Record?, _ encode: (Record) -> [UInt8],
            _ decode: (UnsafeRawBufferPointer) throws -> Record
        ) {
            guard let record else { return }
            let bytes = encode(record)
            let back = unsafe bytes.withUnsafeBytes { unsafe try? decode($0) }
            precondition(back == record, "what is written comes back")
        }
        unsafe again(
            try? unsafe ThrottleRecord.decode(bytes, with: reader), { $0.encode() },
            { try unsafe ThrottleRecord.decode($0, with: reader) })
        unsafe again(
            try? unsafe EpochRecord.decode(bytes, with: reader), { $0.encode() },
            { try unsafe EpochRecord.decode($0, with: reader) })
        unsafe again(
            try? unsafe Notice.decode(bytes, with: reader), { $0.encode() },
            { try unsafe Notice.decode($0, with: reader) })
        unsafe again(
            try? unsafe DeadRecord.decode(bytes, with: reader), { $0.encode() },
            { try unsafe DeadRecord.decode($0, with: reader) })
        if let value = unsafe reader.read(bytes) { _ = try? PolicyDocument.policy(value) }
    }

    private static func request(_ bytes: UnsafeRawBufferPointer) {
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        if let target = RequestTarget(text) {
            precondition(
                target.segments.allSatisfy { $0 != ".." && !$0.contains("/") }, "none escapes")
            precondition(target.query.count <= RequestTarget.queryItemsMax, "none is too many")
        }
        let limit = 1 << 20
        if let unpacked = try? Gzip.decoded(unsafe [UInt8](bytes), bytesMax: limit) {
            precondition(unpacked.count <= limit, "no more than the limit")
        }
    }
}

extension DeadRecord {
    fileprivate func encode() -> [UInt8] {
        switch self {
        case .letter(let letter): letter.encode()
        case .retried(let mark): mark.encode()
        }
    }
}
