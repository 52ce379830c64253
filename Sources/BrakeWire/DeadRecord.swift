// What the topic of dead letters holds: letters, and marks of those that have been retried.

package import BrakeModel

/// The mark of letters that were retried, appended together with what became of them: `{v, retried,
/// at, by}`, with the letters' offsets.
package struct RetriedMark: Sendable, Equatable {
    /// The most letters of one mark.
    package static let lettersMax = 500

    package var letters: [Int64]
    /// When, ms since 1970.
    package var at: Int64
    /// Who did it.
    package var by: String

    package init(letters: [Int64], at: Int64, by: String) {
        self.letters = letters
        self.at = at
        self.by = by
    }

    package func encode() -> [UInt8] {
        JSONWriter.bytes { mark in
            mark.object { mark in
                mark.field("v", DeadLetter.version)
                mark.array("retried") { list in
                    for letter in letters { list.integer(letter) }
                }
                mark.field("at", at)
                mark.field("by", by)
            }
        }
    }
}

/// A record of the topic of dead letters.
package enum DeadRecord: Sendable, Equatable {
    case letter(DeadLetter)
    case retried(RetriedMark)

    /// The record of these bytes; one with a reason or of a version that this build does not know
    /// is rejected.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(Rejection) -> DeadRecord {
        let record = unsafe try reader.record(bytes, version: DeadLetter.version)
        if record["retried"] != nil { return .retried(try RetriedMark(record)) }
        return .letter(try DeadLetter(record))
    }
}

extension RetriedMark {
    fileprivate init(_ record: JSONValue) throws(Rejection) {
        self.init(
            letters: try record.required("retried", \.array).mapRejecting {
                value throws(Rejection) in
                guard let offset = value.integer, offset >= 0 else { throw .badField }
                return offset
            },
            at: try record.required("at", \.integer), by: try record.required("by", \.text))
    }
}

extension DeadLetter {
    fileprivate init(_ record: JSONValue) throws(Rejection) {
        let reason = try record.required("reason") { $0.text.flatMap { Rejection(rawValue: $0) } }
        let index = try record.optional("index", \.count)
        let event = RejectedEvent(
            index: index, id: try record.optional("id", \.text), reason: reason)
        unsafe self.init(
            stage: record["stage"]?.text.flatMap { Stage(rawValue: $0) },
            topic: try record.required("topic", \.text),
            partition: try record.required("partition") { $0.integer.flatMap { Int(exactly: $0) } },
            offset: try record.required("offset", \.integer),
            append: try record.required("at", \.integer),
            app: record["app"]?.text.flatMap { AppID($0) }, event: event, value: nil)
        byteCount = try record.optional("bytes", \.count)
        if let text = record["text"] {
            guard let text = text.text else { throw .badField }
            excerpt = Array(text.utf8)
        } else {
            // One of both is there.
            excerpt = try record.required("base64") { $0.text.flatMap { Base64.bytes($0) } }
        }
    }
}

extension JSONValue {
    /// What a field of a record has, if it is there.
    fileprivate func optional<Value>(
        _ key: String, _ read: (JSONValue) -> Value?
    ) throws(Rejection) -> Value? {
        guard let field = self[key] else { return nil }
        guard let value = read(field) else { throw .badField }
        return value
    }
}
