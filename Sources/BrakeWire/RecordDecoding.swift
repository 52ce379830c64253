// One record while its events are read: what they must share, and what is undone when it is not
// JSON.

internal import BrakeModel
internal import CSimdJSON

/// The state of one record. Safe: it lives no longer than the call that has the record's key.
@safe
struct RecordDecoding {
    let append: Int64
    let source: RecordSource
    let hashedIDs: HashedIDs
    /// The type and app of the first event taken, which the others must share.
    private var type: EventType?
    private var appHash: UInt64 = 0
    private var nameOffset: UInt32 = 0
    private var nameLength: UInt8 = 0

    init(append: Int64, source: RecordSource, _ hashedIDs: HashedIDs) {
        self.append = append
        self.source = source
        self.hashedIDs = hashedIDs
        if case .topic(let type, _) = source { self.type = type }
    }

    /// Reads all events of the opened document. False, with nothing added, when it is not JSON.
    mutating func read(
        _ reader: JSONReader, into batch: inout EventBatch, rejected: inout [RejectedEvent]
    ) -> Bool {
        let before = self
        let events = batch.events.count
        let names = batch.names.count
        let rejections = rejected.count
        let isArray = reader.isArray
        var index = 0
        var step = BRAKE_JSON_MORE
        while step == BRAKE_JSON_MORE && index < EventDecoder.eventsMax {
            step = reader.nextEvents()
            for place in 0..<reader.eventCount {
                take(
                    reader.event(place), index: isArray ? index : nil, into: &batch,
                    rejected: &rejected)
                index += 1
            }
        }
        if step == BRAKE_JSON_END && index <= EventDecoder.eventsMax { return true }
        self = before
        batch.events.removeLast(batch.events.count - events)
        batch.names.removeLast(batch.names.count - names)
        rejected.removeLast(rejected.count - rejections)
        guard step != BRAKE_JSON_BAD else { return false }
        rejected.append(RejectedEvent(index: nil, reason: .tooLarge))
        return true
    }

    /// Reads the elements of an array one by one, each as a document of its own.
    mutating func read(
        _ elements: [Range<Int>], of value: UnsafeRawBufferPointer, _ reader: JSONReader,
        into batch: inout EventBatch, rejected: inout [RejectedEvent]
    ) {
        guard elements.count <= EventDecoder.eventsMax else {
            rejected.append(RejectedEvent(index: nil, reason: .tooLarge))
            return
        }
        for (index, range) in elements.enumerated() {
            let element = unsafe UnsafeRawBufferPointer(rebasing: value[range])
            guard unsafe reader.readAlone(element) else {
                rejected.append(RejectedEvent(index: index, reason: .badJSON, bytes: range))
                continue
            }
            take(
                reader.event(0), index: index, offset: range.lowerBound, into: &batch,
                rejected: &rejected)
        }
    }

    /// Takes an event which the reader has read, from a document that begins at the offset.
    @inline(__always)
    private mutating func take(
        _ raw: RawEvent, index: Int?, offset: Int = 0, into batch: inout EventBatch,
        rejected: inout [RejectedEvent]
    ) {
        do {
            batch.events.append(try event(raw, into: &batch))
        } catch {
            rejected.append(raw.rejected(error, index: index, offset: offset))
        }
    }

    @inline(__always)
    private mutating func event(
        _ raw: RawEvent, into batch: inout EventBatch
    ) throws(Rejection) -> Event {
        let type = try raw.checkedType()
        guard self.type == nil || self.type == type else { throw .wrongType }
        // All that is asked of an app was asked of the first event's.
        let isFirst = nameLength == 0 || !isName(raw.app, in: batch)
        if isFirst { try checkFirstApp(raw) }
        var event = try raw.checkedEvent(as: type, append: append, hashedIDs)
        if isFirst { noteFirst(raw, of: type, in: &batch) }
        event.appHash = appHash
        event.nameOffset = nameOffset
        event.nameLength = nameLength
        return event
    }

    /// Makes sure that an event of an app not met yet is the first that is taken.
    private func checkFirstApp(_ raw: RawEvent) throws(Rejection) {
        let app = unsafe try raw.checkedApp()
        if case .topic(_, let key) = source {
            guard let key = unsafe key, unsafe key.isEqual(to: app) else { throw .wrongApp }
        }
        guard nameLength == 0 else { throw .wrongApp }
    }

    private mutating func noteFirst(
        _ raw: RawEvent, of type: EventType, in batch: inout EventBatch
    ) {
        let app = unsafe raw.app.text
        self.type = type
        appHash = unsafe StableHash.of(app)
        nameOffset = unsafe batch.addName(app)
        nameLength = UInt8(truncatingIfNeeded: app.count)
    }

    /// Whether it is the app of the event taken first.
    @inline(__always)
    private func isName(_ app: JSONSlice, in batch: EventBatch) -> Bool {
        let range = Int(nameOffset)..<Int(nameOffset) + Int(nameLength)
        return unsafe batch.names.withUnsafeBytes { names in
            unsafe app.matches(UnsafeRawBufferPointer(rebasing: names[range]))
        }
    }
}

extension RawEvent {
    /// The report about this event, in a document that begins at the offset.
    func rejected(_ reason: Rejection, index: Int?, offset: Int) -> RejectedEvent {
        let bytes = range.lowerBound + offset..<range.upperBound + offset
        let app = unsafe app.kind == BRAKE_JSON_TEXT ? AppID(bytes: app.text) : nil
        return RejectedEvent(index: index, id: readableID, app: app, reason: reason, bytes: bytes)
    }
}
