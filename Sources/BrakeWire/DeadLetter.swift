// A record that could not be used, kept for people with the beginning of what it was.

package import BrakeModel

/// What is set aside in the topic of dead letters: `{v, stage, topic, partition, offset, index, id,
/// app, reason, at, bytes, text}`, or `base64` in place of `text` when the bytes are not UTF-8.
package struct DeadLetter: Sendable, Equatable {
    /// The version of the format.
    package static let version: Int64 = 1
    /// The most bytes kept of what could not be used.
    package static let excerptBytesMax = 1_024

    /// Who could not use it.
    package enum Stage: String, Sendable, CaseIterable {
        /// The collector: an event of an upload, which is in no topic.
        case collect
        /// The evaluator: a record of an input, or an app beyond its limit.
        case evaluate
        /// `adbrake dead retry`: an event of a record that others of it could be taken from.
        case retry
    }

    /// Nil in letters of builds that did not say.
    package var stage: Stage?
    /// The input's name; `upload` or `app` where no record of an input is meant, with -1 as
    /// partition or offset.
    package var topic: String
    package var partition: Int
    package var offset: Int64
    /// A: when the log took the record, ms since 1970.
    package var append: Int64
    /// Where it could be told.
    package var app: AppID?
    package var event: RejectedEvent
    /// The bytes of the record or event, of which the excerpt is the beginning; nil in letters of
    /// builds that did not say.
    package var byteCount: Int?
    /// The beginning of the record, or of the event where one of an array is meant.
    package internal(set) var excerpt: [UInt8]

    /// A letter about an event of the record with this value.
    package init(
        stage: Stage?, topic: String, partition: Int, offset: Int64, append: Int64, app: AppID?,
        event: RejectedEvent, value: UnsafeRawBufferPointer?
    ) {
        self.stage = stage
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.append = append
        self.app = app
        self.event = event
        guard let value = unsafe value else {
            excerpt = []
            byteCount = 0
            return
        }
        let whole = 0..<value.count
        let range = (event.bytes ?? whole).clamped(to: whole)
        byteCount = range.count
        let start = range.prefix(DeadLetter.excerptBytesMax)
        excerpt = unsafe [UInt8](value[start.startIndex..<start.endIndex])
    }

    /// Whether the excerpt is all of it.
    package var isWhole: Bool {
        if let byteCount { return excerpt.count == byteCount }
        // A limit that cut a character has left up to three bytes less.
        return excerpt.count < DeadLetter.excerptBytesMax - 3
    }

    package func encode() -> [UInt8] {
        JSONWriter.bytes(capacity: 2_048) { letter in
            letter.object { letter in
                letter.field("v", DeadLetter.version)
                if let stage { letter.field("stage", stage.rawValue) }
                letter.field("topic", topic)
                letter.field("partition", partition)
                letter.field("offset", offset)
                if let index = event.index { letter.field("index", index) }
                if let id = event.id { letter.field("id", id) }
                if let app { letter.field("app", app.text) }
                letter.field("reason", event.reason.rawValue)
                letter.field("at", append)
                if let byteCount { letter.field("bytes", byteCount) }
                if let text = DeadLetter.text(excerpt) {
                    letter.field("text", text)
                } else {
                    letter.field("base64", Base64.text(excerpt))
                }
            }
        }
    }

    /// The bytes as text, without a character that the limit has cut; nil when they are none.
    package static func text(_ bytes: [UInt8]) -> String? {
        let cuts = bytes.count == excerptBytesMax ? 0...3 : 0...0
        for cut in cuts {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
        }
        return nil
    }
}
