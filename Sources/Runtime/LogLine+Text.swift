// A log line as text: JSON for machines, one readable line for a terminal.

extension LogLine {
    /// Longer lines are cut: one value cannot flood the log.
    static let bytesMax = 16 << 10
    /// Longer values of metadata are cut, so that the line stays whole JSON.
    static let valueBytesMax = 2 << 10

    /// One JSON object: ts, level, part, msg, then the metadata in order of key.
    package var json: String {
        var text = "{\"ts\":\"\(ISO8601.text(milliseconds: at))\",\"level\":\"\(level.name)\""
        text += ",\"part\":\(JSONText.quoted(part)),\"msg\":\(JSONText.quoted(message))"
        for (key, value) in ordered() {
            text += ",\(JSONText.quoted(key)):"
            switch value {
            case .text(let value): text += JSONText.quoted(Self.cut(value))
            case .integer(let value): text += String(value)
            case .number(let value): text += value.isFinite ? String(value) : "\"\(value)\""
            case .truth(let value): text += String(value)
            }
        }
        return text + "}"
    }

    /// `12:30:59.001 warning collect: message  key=value`.
    package var readable: String {
        let clock = ISO8601.text(milliseconds: at).dropFirst(11).dropLast()
        let padding = String(repeating: " ", count: 8 - level.name.utf8.count)
        var text = "\(clock) \(level.name)\(padding)\(part): \(message)"
        for (key, value) in ordered() {
            switch value {
            case .text(let value): text += "  \(key)=\(Self.visible(Self.cut(value)))"
            case .integer(let value): text += "  \(key)=\(value)"
            case .number(let value): text += "  \(key)=\(value)"
            case .truth(let value): text += "  \(key)=\(value)"
            }
        }
        return text
    }

    /// Metadata by key, without what would hide the line's own fields or pass the line's limit.
    private func ordered() -> [(key: String, value: LogValue)] {
        var room = Self.bytesMax - Self.valueBytesMax
        return metadata.sorted { $0.key < $1.key }.prefix { entry in
            if case .text(let text) = entry.value { room -= min(text.utf8.count, 2 << 10) }
            room -= entry.key.utf8.count + 32
            return room > 0
        }.filter { !["ts", "level", "part", "msg"].contains($0.key) }
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > valueBytesMax else { return text }
        // A cut inside a character becomes the replacement character.
        return String(decoding: text.utf8.prefix(valueBytesMax), as: UTF8.self) + "..."
    }

    /// A terminal must not be driven by what others sent us.
    private static func visible(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != 0x22 }
        return isPlain && !text.isEmpty ? text : JSONText.quoted(text)
    }
}
