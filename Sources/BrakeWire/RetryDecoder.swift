// What could not be used once, put into the form in which it can be appended again.

internal import BrakeEngine
internal import BrakeModel

/// Decodes records and events that were refused. Belongs to one thread.
///
/// Appended again, an event gets a new append time. It shall count where it would have counted, so
/// its device times are made such that they say the same without the old append time: `at` becomes
/// the event time E, `session_at` is shifted as `at` was, and `sent` goes. All else stays as it was
/// sent, byte for byte.
package final class RetryDecoder {
    /// What one step takes, well below what the splitter does, since events may grow.
    private static let stepEvents = 500
    private static let stepBytes = UploadSplitter.uploadBytesMax / 2

    private let decoder = EventDecoder()
    private let splitter = UploadSplitter()

    package init() {}

    /// The good events as records to append, the others with their places in the value.
    package func decode(_ value: [UInt8], append: Int64) -> Upload {
        unsafe value.withUnsafeBytes { bytes in unsafe decode(bytes, append: append) }
    }

    private func decode(_ value: UnsafeRawBufferPointer, append: Int64) -> Upload {
        let whole = unsafe ArrayFrame.trimmed(0..<value.count, of: value)
        guard let first = whole.first else { return Self.refused(.empty) }
        var elements = [whole]
        let isArray = unsafe value[first] == UInt8(ascii: "[")
        if isArray {
            guard let inside = unsafe ArrayFrame.elements(of: value) else {
                return Self.refused(.badJSON)
            }
            elements = inside
        } else if unsafe !ArrayFrame.isOneElement(value) {
            // Put into an array it would become several, or end it.
            return Self.refused(.badJSON)
        }
        var all = Upload()
        var next = 0
        while next < elements.count {
            let start = next
            var body = [UInt8(ascii: "[")]
            repeat {
                if next > start { body.append(UInt8(ascii: ",")) }
                unsafe body += event(
                    UnsafeRawBufferPointer(rebasing: value[elements[next]]), append: append)
                next += 1
            } while next < elements.count && next - start < Self.stepEvents
                && body.count + elements[next].count < Self.stepBytes
            body.append(UInt8(ascii: "]"))
            take(body, elements[start..<next], isArray: isArray, into: &all)
        }
        return all
    }

    /// Cuts a step into records; what is refused is reported as it lies in the value.
    private func take(
        _ body: [UInt8], _ elements: ArraySlice<Range<Int>>, isArray: Bool, into all: inout Upload
    ) {
        let split = Result { () throws(UploadRefusal) in
            let result = unsafe body.withUnsafeBytes { bytes in
                Result { () throws(UploadRefusal) in unsafe try splitter.split(bytes) }
            }
            return try result.get()
        }
        guard let upload = try? split.get() else {
            all.rejected += elements.indices.map { index in
                RejectedEvent(
                    index: isArray ? index : nil, reason: .badJSON, bytes: elements[index])
            }
            return
        }
        all.records += upload.records
        for event in upload.rejected {
            let index = elements.startIndex + (event.index ?? 0)
            all.rejected.append(
                RejectedEvent(
                    index: isArray ? index : nil, id: event.id, reason: event.reason,
                    bytes: elements[index]))
        }
    }

    /// The event with times that stand for themselves; one that cannot be used as it is.
    private func event(_ bytes: UnsafeRawBufferPointer, append: Int64) -> [UInt8] {
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        unsafe decoder.decode(bytes, append: append, into: &batch, rejected: &rejected)
        guard let event = batch.events.first, batch.events.count == 1,
            let fields = unsafe ArrayFrame.fields(of: bytes)
        else { return unsafe [UInt8](bytes) }
        if event.sent == Event.noTime, event.at != Event.noTime, event.at <= append {
            return unsafe [UInt8](bytes)
        }
        let time = EventTime(at: event.at, sent: event.sent, append: append).time
        var sessionAt: Int64?
        if event.sessionAt != Event.noTime {
            sessionAt =
                event.sessionAt + EventTime.drift(sent: event.sent, append: append)
        }
        var rewritten = [UInt8(ascii: "{")]
        for field in fields where unsafe !Self.isTime(bytes[field]) {
            unsafe rewritten += bytes[field]
            rewritten.append(UInt8(ascii: ","))
        }
        // Times before 1970 are no times; so old an event is in no window anyway.
        rewritten += #""at":\#(max(1, time))"#.utf8
        if let sessionAt { rewritten += #","session_at":\#(max(1, sessionAt))"#.utf8 }
        rewritten.append(UInt8(ascii: "}"))
        return rewritten
    }

    /// Whether a field is one of the device times; one whose key is written with escapes stays, and
    /// loses against ours, which come last.
    private static func isTime(_ field: Slice<UnsafeRawBufferPointer>) -> Bool {
        [#""at""#, #""sent""#, #""session_at""#].contains { unsafe field.starts(with: $0.utf8) }
    }

    private static func refused(_ reason: Rejection) -> Upload {
        var upload = Upload()
        upload.rejected = [RejectedEvent(index: nil, reason: reason)]
        return upload
    }
}
