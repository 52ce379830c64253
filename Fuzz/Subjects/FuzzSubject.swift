// What the outside can send us, tried with any bytes: each subject takes them and checks what must
// hold whatever they are. Used by the fuzzer, and by tests over what the fuzzer has found.

import BrakeModel
import BrakeWire
import HTTPServer
import Runtime

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

    /// What inputs are read with. As in the stages it is used again for the next one: to make it
    /// takes longer than to use it, and what an input leaves behind must not be seen by another.
    ///
    /// @unchecked Sendable: used under the monitor's lock alone.
    private struct Readers: @unchecked Sendable {
        let decoder = EventDecoder()
        let replay = ReplayDecoder()
        let splitter = UploadSplitter()
        let retry = RetryDecoder()
        let documents = DocumentReader()
    }

    private static let readers = Monitor(Readers())

    /// Tries the bytes; what must hold and does not is a trap.
    public func take(_ bytes: UnsafeRawBufferPointer) {
        if self == .http { return unsafe Self.http(bytes) }
        Self.readers.withLock { unsafe take(bytes, with: $0) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, with readers: Readers) {
        switch self {
        case .decoder: unsafe Self.decode(bytes, readers)
        case .upload: unsafe Self.upload(bytes, readers)
        case .retry: unsafe Self.retry(bytes, readers)
        case .sentry: unsafe Self.sentry(bytes, readers)
        case .otlp: unsafe Self.otlp(bytes, readers)
        case .records: unsafe Self.records(bytes, readers.documents)
        case .request: unsafe Self.request(bytes)
        case .http: break
        }
    }

    private static let append: Int64 = 1_700_000_000_000

    private static func decode(_ bytes: UnsafeRawBufferPointer, _ readers: Readers) {
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        unsafe readers.decoder.decode(bytes, append: append, into: &batch, rejected: &rejected)
        precondition(batch.events.count <= EventDecoder.eventsMax, "no more than a record has")
        for event in batch.events {
            let end = Int(event.nameOffset) + Int(event.nameLength)
            precondition(end <= batch.names.count && event.nameLength > 0, "each has its app")
            precondition(event.meaning == .crash || event.count >= 1, "each counts")
        }
        for event in rejected { check(event, bytes.count) }
        var lines = EventBatch()
        _ = unsafe readers.replay.decode(bytes, into: &lines, rejected: &rejected)
    }

    private static func check(_ event: RejectedEvent, _ count: Int) {
        guard let range = event.bytes else { return }
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "it lies in the record")
    }

    /// What the collector accepts, the evaluator must take.
    private static func upload(_ bytes: UnsafeRawBufferPointer, _ readers: Readers) {
        guard let upload = try? unsafe readers.splitter.split(bytes) else { return }
        check(upload, readers)
        for event in upload.rejected { check(event, bytes.count) }
        precondition(
            upload.accepted + upload.rejected.count <= UploadSplitter.eventsMax, "none is made up")
        precondition(readers.documents.read(upload.answer()) != nil, "the answer is JSON")
    }

    private static func check(_ upload: Upload, _ readers: Readers) {
        for record in upload.records {
            var batch = EventBatch()
            var rejected: [RejectedEvent] = []
            let key = Array(record.app.text.utf8)
            unsafe record.value.withUnsafeBytes { value in
                unsafe key.withUnsafeBytes { key in
                    unsafe readers.decoder.decode(
                        value, append: append, from: .topic(record.type, key: key), into: &batch,
                        rejected: &rejected)
                }
            }
            precondition(rejected.isEmpty, "what was accepted is not rejected: \(rejected)")
            precondition(batch.events.count == record.count, "all of it is taken")
        }
    }

    private static func retry(_ bytes: UnsafeRawBufferPointer, _ readers: Readers) {
        let upload = unsafe readers.retry.decode([UInt8](bytes), append: append)
        check(upload, readers)
        for event in upload.rejected { check(event, bytes.count) }
    }

    private static func sentry(_ bytes: UnsafeRawBufferPointer, _ readers: Readers) {
        let bytes = unsafe [UInt8](bytes)
        let reader = readers.documents
        guard let app = AppID("app"), let envelope = SentryEnvelope(bytes, reader) else { return }
        check(envelope.events(app: app, of: bytes, reader), readers)
    }

    private static func otlp(_ bytes: UnsafeRawBufferPointer, _ readers: Readers) {
        let bytes = unsafe [UInt8](bytes)
        for logs in [OTLPLogs(protobuf: bytes), OTLPLogs(json: bytes, readers.documents)] {
            guard let logs else { continue }
            check(logs.events { AppID($0 ?? "app") }, readers)
        }
    }

    /// What we make of another protocol is always an upload.
    private static func check(_ events: ForeignEvents, _ readers: Readers) {
        for body in events.uploads {
            let upload = unsafe body.withUnsafeBytes { unsafe try? readers.splitter.split($0) }
            precondition(upload != nil, "it is an upload")
            if let upload { check(upload, readers) }
        }
    }

    private static func records(_ bytes: UnsafeRawBufferPointer, _ reader: DocumentReader) {
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
        unsafe again(
            try? unsafe ControlRecord.decode(bytes, with: reader), { $0.encode() },
            { try unsafe ControlRecord.decode($0, with: reader) })
        var ledger = ControlLedger()
        unsafe ledger.take(offset: 0, value: bytes, with: reader)
        precondition(ledger.end == 1, "none holds up the next")
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
