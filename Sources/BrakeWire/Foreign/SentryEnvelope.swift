// The envelope of Sentry's SDKs, cut into its items: a line of headers, then for each item a line
// of headers and a payload.

/// An envelope whose framing could be read.
package struct SentryEnvelope: Sendable, Equatable {
    /// The most items; an SDK sends far fewer.
    static let itemsMax = 200
    /// Larger payloads of items that matter are ignored: an SDK keeps an event below it.
    static let payloadBytesMax = 1 << 20
    /// The longest line of headers.
    static let headerBytesMax = 16 << 10

    struct Item: Sendable, Equatable {
        var type: String
        var payload: Range<Int>
    }

    /// The id that the answer repeats.
    package private(set) var eventID: String?
    /// The public key of its DSN, where the envelope has one.
    package private(set) var key: String?
    /// The device's clock when it was sent, ms since 1970.
    private(set) var sent: Int64?
    private(set) var items: [Item] = []
    /// Whether the framing broke off, or there were more items than may be.
    private(set) var isCut = false

    /// Nil: not an envelope, since its first line is not a JSON object.
    package init?(_ bytes: [UInt8], _ reader: DocumentReader) {
        var at = 0
        guard let line = Self.line(bytes, &at),
            let header = reader.read(Array(bytes[line])), header.fields != nil
        else { return nil }
        eventID = header["event_id"]?.text.flatMap(Self.checkedID)
        key = header["dsn"]?.text.flatMap(Self.key)
        sent = MomentText.milliseconds(header["sent_at"])
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\n") {
                at += 1
                continue
            }
            guard items.count < Self.itemsMax, let item = Self.item(bytes, &at, reader) else {
                isCut = true
                return
            }
            items.append(item)
        }
    }

    private static func item(
        _ bytes: [UInt8], _ at: inout Int, _ reader: DocumentReader
    ) -> Item? {
        guard let line = line(bytes, &at), let header = reader.read(Array(bytes[line])),
            let type = header["type"]?.text
        else { return nil }
        let start = at
        if let length = header["length"] {
            guard let count = length.integer, count >= 0, count <= Int64(bytes.count - start) else {
                return nil
            }
            at = start + Int(count)
            let item = Item(type: type, payload: start..<at)
            // A newline ends the payload, save at the end of the envelope.
            guard at == bytes.count || bytes[at] == UInt8(ascii: "\n") else { return nil }
            return item
        }
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        at = end
        return Item(type: type, payload: start..<end)
    }

    /// The next line, without its newline; nil when it is too long for headers.
    private static func line(_ bytes: [UInt8], _ at: inout Int) -> Range<Int>? {
        let start = at
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        guard end > start, end - start <= headerBytesMax else { return nil }
        at = min(end + 1, bytes.count)
        return start..<end
    }

    /// An id is echoed to the client, so it has to be one: 32 hexadecimal digits, dashes or not.
    private static func checkedID(_ text: String) -> String? {
        let digits = text.filter { $0 != "-" }
        return digits.count == 32 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
            ? digits.lowercased() : nil
    }

    /// The public key of `https://KEY@host/7`.
    private static func key(_ dsn: String) -> String? {
        guard let at = dsn.firstIndex(of: "@"), let slashes = dsn.range(of: "://", before: at)
        else { return nil }
        let user = dsn[slashes..<at].prefix { $0 != ":" }
        return user.isEmpty ? nil : String(user)
    }
}

extension String {
    /// The index after the text, when it lies before the end given.
    fileprivate func range(of text: String, before end: Index) -> Index? {
        var index = startIndex
        while index < end {
            if self[index...].hasPrefix(text) {
                let after = self.index(index, offsetBy: text.count)
                return after <= end ? after : nil
            }
            index = self.index(after: index)
        }
        return nil
    }
}
