// Decodes a record for a test, from bytes that end where the record ends.

import BrakeModel

@testable import BrakeWire

/// The outcome of decoding one record, appended at 1 700 000 000 000.
struct Decoded {
    var events: ContiguousArray<Event> { batch.events }
    var apps: [String] {
        batch.events.map { event in
            let start = Int(event.nameOffset)
            let name = batch.names[start..<start + Int(event.nameLength)]
            return String(decoding: name, as: UTF8.self)
        }
    }
    /// Index, id and reason of each rejected event.
    var reports: [String] {
        rejected.map { event in
            let index = event.index.map { String($0) } ?? "-"
            return "\(index) \(event.id ?? "-") \(event.reason.rawValue)"
        }
    }
    private(set) var rejected: [RejectedEvent] = []
    private var batch = EventBatch()

    init(_ record: String, topic: EventType, key: String?) {
        self.init(Array(record.utf8), topic: topic, key: key)
    }

    init(
        _ record: [UInt8], topic: EventType, key: String?, with decoder: EventDecoder = .init()
    ) {
        let key = key.map { Array($0.utf8) }
        unsafe record.withUnsafeBytes { value in
            if let key {
                unsafe key.withUnsafeBytes { bytes in
                    unsafe decode(value, .topic(topic, key: bytes), decoder)
                }
            } else {
                unsafe decode(value, .topic(topic, key: nil), decoder)
            }
        }
    }

    init(_ record: String) { self.init(Array(record.utf8)) }

    init(_ record: [UInt8], with decoder: EventDecoder = EventDecoder()) {
        unsafe record.withUnsafeBytes { value in unsafe decode(value, .file, decoder) }
    }

    private mutating func decode(
        _ value: UnsafeRawBufferPointer, _ source: RecordSource, _ decoder: EventDecoder
    ) {
        unsafe decoder.decode(
            value, append: 1_700_000_000_000, from: source, into: &batch, rejected: &rejected)
    }
}
