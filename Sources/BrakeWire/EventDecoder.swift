// Records into events: the hot path of the evaluator, the replay and the collector.

package import BrakeModel
internal import CSimdJSON

/// Where a record comes from, which says what else must fit.
///
/// Safe: the key's bytes are read only during the call that it is handed to.
@safe
package enum RecordSource {
    /// A file: the type follows from the record, the app from the record.
    case file
    /// A topic of this type, with the record's key, which must be the app.
    case topic(EventType, key: UnsafeRawBufferPointer?)
}

/// Which ids of events become hashes; all are checked. The others are 0 in the event.
package enum HashedIDs: String, Sendable {
    /// Those by which something is counted once: sessions of starts and crashes, ids and devices of
    /// crashes.
    case counted
    /// Ids and sessions of all events, as older builds did.
    case all
}

/// Decodes records. It owns one parser with its memory, allocates nothing per event, and belongs to
/// one thread.
///
/// Of equal keys within an object the last one wins, as in most readers of JSON. An array whose
/// frame is whole (matching brackets, commas between elements) keeps its good events whatever is
/// wrong with the others; with a broken frame all of it is rejected.
package final class EventDecoder {
    /// The most bytes of one event.
    package static let eventBytesMax = 16 * 1_024
    /// The most bytes of a record, that is an array of events.
    package static let recordBytesMax = 256 * 1_024
    /// The most events of a record.
    package static let eventsMax = 1_000
    /// The most ad events that one stands for.
    package static let countMax: Int64 = 1_000_000
    /// The most characters of an event id and of a device.
    package static let idCharactersMax = 64

    private let reader = JSONReader(bytesMax: EventDecoder.recordBytesMax)
    /// Which ids of events become hashes.
    package var hashedIDs: HashedIDs

    package init(hashing ids: HashedIDs = .counted) {
        hashedIDs = ids
    }

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
        var record = RecordDecoding(append: append, source: source, hashedIDs)
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
