// The owner of a parser: the only place that calls CSimdJSON.

internal import CSimdJSON

/// Reads one document at a time. The document's bytes must stay where they are while it is read.
///
/// Safe: every call hands the parser memory that the caller holds for as long as the call takes,
/// and decoders read all events of a document before they return.
@safe
final class JSONReader {
    /// Events are read so many at a time, which lie in the processor's nearest cache.
    private static let eventsAtOnce: UInt32 = 16

    /// How many events have been read last.
    private(set) var eventCount: UInt32 = 0
    /// What the document as a whole is.
    private(set) var kind = BRAKE_JSON_ABSENT
    // Both made and destroyed with this object, used by nobody else.
    private let parser: OpaquePointer
    private let events: UnsafeMutablePointer<brake_json_event>

    /// A reader of documents up to so many bytes.
    init(bytesMax: Int) {
        guard let parser = unsafe brake_json_create(bytesMax) else {
            preconditionFailure("memory for a JSON parser of \(bytesMax) bytes")
        }
        unsafe self.parser = parser
        unsafe events = .allocate(capacity: Int(Self.eventsAtOnce))
        for place in 0..<Int(Self.eventsAtOnce) {
            unsafe events.advanced(by: place).initialize(to: brake_json_event())
        }
    }

    deinit {
        unsafe brake_json_destroy(parser)
        unsafe events.deallocate()
    }

    var isArray: Bool { kind == BRAKE_JSON_ARRAY }
    var isScalar: Bool { kind != BRAKE_JSON_ARRAY && kind != BRAKE_JSON_OBJECT }

    /// Starts a document; false when it cannot be JSON.
    @inline(__always)
    func open(_ bytes: UnsafeRawBufferPointer) -> Bool {
        kind = BRAKE_JSON_ABSENT
        guard let base = bytes.baseAddress else { return false }
        let first = unsafe base.assumingMemoryBound(to: UInt8.self)
        guard unsafe brake_json_open(parser, first, bytes.count) else { return false }
        kind = unsafe brake_json_peek(parser)
        return true
    }

    /// Reads a document which is one event, whole; false when it is not JSON.
    func readAlone(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard unsafe open(bytes) else { return false }
        if isArray { return isWholeArray() }
        return nextEvents() == BRAKE_JSON_END
    }

    /// Reads some events, at least one if there is one left.
    @inline(__always)
    func nextEvents() -> brake_json_step {
        unsafe brake_json_next_events(parser, events, Self.eventsAtOnce, &eventCount)
    }

    /// One of the events read last. Its texts are valid until the reader opens another document.
    @inline(__always)
    func event(_ place: UInt32) -> RawEvent {
        precondition(place < eventCount)
        return unsafe RawEvent(events.advanced(by: Int(place)))
    }

    /// Whether the opened document, a scalar, is JSON.
    func isWholeScalar() -> Bool { skipTokens() }

    /// Reads an array which stands where an event should; the event is then none.
    private func isWholeArray() -> Bool {
        unsafe events.pointee = brake_json_event()
        eventCount = 1
        return skipTokens()
    }

    private func skipTokens() -> Bool {
        var token = JSONSlice()
        var step = BRAKE_JSON_MORE
        while step == BRAKE_JSON_MORE { step = nextToken(&token) }
        return step == BRAKE_JSON_END
    }

    /// Reads the next token.
    func nextToken(_ token: inout JSONSlice) -> brake_json_step {
        unsafe brake_json_next_token(parser, &token)
    }

    /// Reads the opened document as a line of a replay file; nil when it is not JSON.
    @inline(__always)
    func line() -> brake_json_line? {
        var line = brake_json_line()
        guard unsafe brake_json_read_line(parser, &line) else { return nil }
        kind = line.value
        return line
    }
}
