// Events that another protocol has brought, as uploads of ours.

internal import BrakeModel

/// Our events, made of what another protocol has brought, and what could not be used of it.
package struct ForeignEvents: Sendable, Equatable {
    /// The most events made of one request; more are ignored and counted.
    package static let eventsMax = 10_000
    /// Texts that only decide who is the same are hashed when they are longer.
    private static let idBytesMax = 64
    /// What is carried along is cut at so many bytes: a single character may have any number.
    private static let textBytesMax = 128

    /// JSON arrays, each within the limits of an upload.
    package private(set) var uploads: [[UInt8]] = []
    package private(set) var count = 0
    /// What could not be used: how many of what, words from a fixed list.
    package private(set) var ignored: [String: Int] = [:]

    private var inLast = 0

    package init() {}

    /// An event that is about to be made.
    struct Draft {
        private(set) var writer = JSONWriter(capacity: 256)

        /// A text that is carried along, cut when it is too long; nothing when it is absent.
        mutating func text(_ key: StaticString, _ value: String?) {
            guard let value, !value.isEmpty else { return }
            let cut = value.utf8.prefix(ForeignEvents.textBytesMax)
            writer.field(key, String(decoding: cut, as: UTF8.self))
        }

        /// A text that decides who is the same.
        mutating func id(_ key: StaticString, _ value: String?) {
            guard let value, !value.isEmpty else { return }
            writer.field(
                key,
                value.utf8.count <= ForeignEvents.idBytesMax
                    ? value : Hex.text(StableHash.of(value)))
        }

        /// ms since 1970.
        mutating func time(_ key: StaticString, _ value: Int64?) {
            if let value { writer.field(key, value) }
        }

        mutating func bool(_ key: StaticString, _ value: Bool) { writer.field(key, value) }
    }

    /// How many more events there may be.
    var room: Int { Self.eventsMax - count }

    /// Adds an event of a type.
    mutating func add(_ type: EventType, app: AppID, _ body: (inout Draft) -> Void) {
        guard count < Self.eventsMax else { return ignore("too_many") }
        var draft = Draft()
        draft.text("type", type.name)
        draft.text("app", app.text)
        body(&draft)
        append(draft.writer.bytes)
    }

    mutating func ignore(_ what: String, _ count: Int = 1) {
        if count > 0 { ignored[what, default: 0] += count }
    }

    private mutating func append(_ fields: [UInt8]) {
        let bytes = fields.count + 3
        if let last = uploads.last, inLast < UploadSplitter.eventsMax,
            last.count + bytes <= UploadSplitter.uploadBytesMax
        {
            uploads[uploads.count - 1].removeLast()
            uploads[uploads.count - 1].append(UInt8(ascii: ","))
            inLast += 1
        } else {
            uploads.append([UInt8(ascii: "[")])
            inLast = 1
        }
        count += 1
        uploads[uploads.count - 1].append(UInt8(ascii: "{"))
        uploads[uploads.count - 1].append(contentsOf: fields)
        uploads[uploads.count - 1].append(contentsOf: [UInt8(ascii: "}"), UInt8(ascii: "]")])
    }
}
