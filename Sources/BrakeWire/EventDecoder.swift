// Records into events: the hot path of the evaluator, the replay and the collector.

package import BrakeModel
internal import CSimdJSON

/// Where a record comes from, which says what else must fit.
@safe
package enum RecordSource {
    /// A file: the type follows from the record, the app from the record.
    case file
    /// A topic of this type, with the record's key, which must be the app.
    case topic(EventType, key: UnsafeRawBufferPointer?)
}

/// An event that could not be used.
package struct RejectedEvent: Sendable, Equatable {
    /// Its place in the array or upload, nil when the record as a whole could not be used.
    package var index: Int?
    /// Its event id, where that could be read.
    package var id: String?
    package var reason: Rejection

    package init(index: Int?, id: String? = nil, reason: Rejection) {
        self.index = index
        self.id = id
        self.reason = reason
    }
}

/// Decodes records. It owns one parser with its memory, allocates nothing per event, and belongs to
/// one thread.
///
/// Of equal keys within an object the last one wins, as in most readers of JSON. An array whose frame
/// is whole (matching brackets, commas between elements) keeps its good events whatever is wrong
/// with the others; with a broken frame all of it is rejected.
package final class EventDecoder {
    /// The most bytes of one event.
    package static let eventBytesMax = 16 * 1_024
    /// The most bytes of a record, that is an array of events.
    package static let recordBytesMax = 256 * 1_024
    /// The most events of a record.
    package static let eventsMax = 1_000
    /// The most characters of an event id and of a device.
    package static let idCharactersMax = 64

    private let reader = JSONReader(bytesMax: EventDecoder.recordBytesMax)

    package init() {}

    /// Adds a record's events to the batch and what could not be used to the rejected ones.
    package func decode(
        _ value: UnsafeRawBufferPointer?, append: Int64, from source: RecordSource = .file,
        into batch: inout EventBatch, rejected: inout [RejectedEvent]
    ) {
        guard let value = unsafe value, unsafe !value.isEmpty else {
            rejected.append(RejectedEvent(index: nil, reason: .empty))
            return
        }
        guard value.count <= EventDecoder.recordBytesMax else {
            rejected.append(RejectedEvent(index: nil, reason: .tooLarge))
            return
        }
        var record = RecordDecoding(append: append, source: source)
        if case .topic(_, let key) = source, unsafe key == nil {
            rejected.append(RejectedEvent(index: nil, reason: .wrongApp))
            return
        }
        let isOpen = unsafe reader.open(value)
        if isOpen && reader.isScalar {
            let isJSON = reader.isWholeScalar()
            rejected.append(RejectedEvent(index: nil, reason: isJSON ? .notAnObject : .badJSON))
            return
        }
        if isOpen && record.read(reader, into: &batch, rejected: &rejected) { return }
        // Something in it is not JSON: take the array apart, so that its other events count.
        guard let elements = unsafe ArrayFrame.elements(of: value) else {
            rejected.append(RejectedEvent(index: nil, reason: .badJSON))
            return
        }
        unsafe record.read(elements, of: value, reader, into: &batch, rejected: &rejected)
    }
}

/// The state of one record while its events are read.
@safe
struct RecordDecoding {
    let append: Int64
    let source: RecordSource
    /// The type and app of the first event taken, which the others must share.
    private var type: EventType?
    private var appHash: UInt64 = 0
    private var nameOffset: UInt32 = 0
    private var nameLength: UInt8 = 0

    init(append: Int64, source: RecordSource) {
        self.append = append
        self.source = source
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
        var step = reader.nextEvent()
        while step == BRAKE_JSON_MORE && index < EventDecoder.eventsMax {
            take(reader, index: isArray ? index : nil, into: &batch, rejected: &rejected)
            index += 1
            step = reader.nextEvent()
        }
        if step == BRAKE_JSON_END { return true }
        self = before
        batch.events.removeLast(batch.events.count - events)
        batch.names.removeLast(batch.names.count - names)
        rejected.removeLast(rejected.count - rejections)
        guard step == BRAKE_JSON_MORE else { return false }
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
            guard unsafe reader.openAlone(UnsafeRawBufferPointer(rebasing: value[range])) else {
                rejected.append(RejectedEvent(index: index, reason: .badJSON))
                continue
            }
            take(reader, index: index, into: &batch, rejected: &rejected)
        }
    }

    /// Takes the event which the reader has just read.
    @inline(__always)
    private mutating func take(
        _ reader: JSONReader, index: Int?, into batch: inout EventBatch,
        rejected: inout [RejectedEvent]
    ) {
        do {
            batch.events.append(try event(reader.event, into: &batch))
        } catch {
            rejected.append(RejectedEvent(index: index, id: reader.event.readableID, reason: error))
        }
    }

    @inline(__always)
    private mutating func event(
        _ raw: brake_json_event, into batch: inout EventBatch
    ) throws(Rejection) -> Event {
        guard raw.is_object else { throw .notAnObject }
        guard raw.length <= EventDecoder.eventBytesMax else { throw .tooLarge }
        let type = try raw.eventType()
        guard self.type == nil || self.type == type else { throw .wrongType }
        let app = unsafe raw.app.text
        guard unsafe raw.app.kind == BRAKE_JSON_TEXT && AppID.isValid(app) else { throw .badApp }
        if case .topic(_, let key) = source {
            guard let key = unsafe key, unsafe areEqual(key, app) else { throw .wrongApp }
        }
        let appHash = unsafe StableHash.of(app)
        let isSameApp = unsafe nameLength > 0 && isName(app, in: batch)
        guard nameLength == 0 || isSameApp else { throw .wrongApp }
        let event = try event(raw, type: type, appHash: appHash)
        if !isSameApp {
            self.type = type
            self.appHash = appHash
            unsafe nameOffset = batch.addName(app)
            nameLength = UInt8(truncatingIfNeeded: app.count)
        }
        var named = event
        named.nameOffset = nameOffset
        named.nameLength = nameLength
        return named
    }

    @inline(__always)
    private func event(
        _ raw: brake_json_event, type: EventType, appHash: UInt64
    ) throws(Rejection) -> Event {
        let meaning = try raw.meaning(as: type)
        let id = try raw.id.hash(charactersMax: EventDecoder.idCharactersMax)
        let device = try raw.device.hash(charactersMax: EventDecoder.idCharactersMax)
        let session = try raw.session.hash(charactersMax: EventDecoder.eventBytesMax)
        let at = try DeviceTime(raw.at)
        let sent = try DeviceTime(raw.sent)
        let sessionAt = type == .crash ? try DeviceTime(sessionStart: raw.session_at) : nil
        var converted: UInt8 = at?.isConverted == true ? 1 : 0
        if sent?.isConverted == true { converted += 1 }
        if sessionAt?.isConverted == true { converted += 1 }
        return Event(
            appHash: appHash, meaning: meaning, append: append,
            at: at?.milliseconds ?? Event.noTime, sent: sent?.milliseconds ?? Event.noTime,
            sessionAt: sessionAt?.milliseconds ?? Event.noTime, idHash: id, sessionHash: session,
            deviceHash: device, convertedTimes: converted)
    }

    /// Whether the bytes are the app of the event taken first.
    private func isName(_ app: UnsafeRawBufferPointer, in batch: EventBatch) -> Bool {
        guard app.count == Int(nameLength) else { return false }
        let offset = Int(nameOffset)
        for index in 0..<app.count where unsafe app[index] != batch.names[offset + index] {
            return false
        }
        return true
    }
}

extension brake_json_event {
    /// The event id for a report about a rejected event, nil where there is none that can be told.
    var readableID: String? {
        let text = unsafe id.text
        guard unsafe !text.isEmpty, unsafe scalarCount(text) <= EventDecoder.idCharactersMax else {
            return nil
        }
        return id.string
    }
}

@inline(__always)
func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    guard one.count == other.count else { return false }
    for index in 0..<one.count where unsafe one[index] != other[index] { return false }
    return true
}
