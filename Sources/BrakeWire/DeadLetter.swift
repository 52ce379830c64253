// A record that could not be used, kept for people with the beginning of what it was.

internal import BrakeModel

/// What is set aside in the topic of dead letters: `{v, topic, partition, offset, index, id,
/// reason, at, text}`, or `base64` in place of `text` when the bytes are not UTF-8.
package struct DeadLetter: Sendable, Equatable {
    /// The version of the format.
    package static let version: Int64 = 1
    /// The most bytes kept of what could not be used.
    package static let excerptBytesMax = 1_024

    package var topic: String
    package var partition: Int
    package var offset: Int64
    /// A: when the log took the record, ms since 1970.
    package var append: Int64
    package var event: RejectedEvent
    /// The beginning of the record, or of the event where one of an array is meant.
    package let excerpt: [UInt8]

    /// A letter about an event of the record with this value.
    package init(
        topic: String, partition: Int, offset: Int64, append: Int64, event: RejectedEvent,
        value: UnsafeRawBufferPointer?
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.append = append
        self.event = event
        guard let value = unsafe value else {
            excerpt = []
            return
        }
        let whole = 0..<value.count
        let range = (event.bytes ?? whole).clamped(to: whole).prefix(DeadLetter.excerptBytesMax)
        excerpt = unsafe [UInt8](value[range.startIndex..<range.endIndex])
    }

    package func encode() -> [UInt8] {
        JSONWriter.bytes(capacity: 2_048) { letter in
            letter.object { letter in
                letter.field("v", DeadLetter.version)
                letter.field("topic", topic)
                letter.field("partition", partition)
                letter.field("offset", offset)
                if let index = event.index { letter.field("index", index) }
                if let id = event.id { letter.field("id", id) }
                letter.field("reason", event.reason.rawValue)
                letter.field("at", append)
                if let text = DeadLetter.text(excerpt) {
                    letter.field("text", text)
                } else {
                    letter.field("base64", Base64.text(excerpt))
                }
            }
        }
    }

    /// The bytes as text, without a character that the limit has cut; nil when they are none.
    private static func text(_ bytes: [UInt8]) -> String? {
        let cuts = bytes.count == excerptBytesMax ? 0...3 : 0...0
        for cut in cuts {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
        }
        return nil
    }
}

/// RFC 4648, with padding.
enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for index in 0..<3 {
                word = word << 8 | (index < group.count ? UInt32(group[start + index]) : 0)
            }
            for index in 0..<4 {
                let digit = digits[Int(word >> (18 - 6 * UInt32(index)) & 0x3f)]
                text.append(index <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
