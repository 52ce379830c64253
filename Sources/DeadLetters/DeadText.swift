// Letters as people and scripts read them.

import BrakeModel
import BrakeWire
import Runtime

extension StoredLetter {
    /// The most characters of an excerpt in a line.
    private static let lineCharactersMax = 60

    /// One line of JSON: the letter with its number.
    package func json(isRetried: Bool) -> [UInt8] {
        let bytes = JSONWriter.bytes(capacity: 2_048) { line in
            line.object { line in
                line.field("number", number)
                line.field("written", written)
                line.field("retried", isRetried)
                line.key("letter")
                line.raw(letter.encode())
            }
        }
        return bytes + [UInt8(ascii: "\n")]
    }

    /// One line of a table.
    package func line(isRetried: Bool) -> String {
        let columns = [
            Self.padded(String(number), 8), ISO8601.text(milliseconds: written),
            Self.padded(isRetried ? "retried" : "", 7),
            Self.padded(letter.stage?.rawValue ?? "-", 8), Self.padded(letter.topic, 10),
            Self.padded(letter.event.reason.rawValue, 14),
            Self.padded(letter.app?.text ?? "-", 24), excerpt,
        ]
        return columns.joined(separator: "  ")
    }

    /// The heads of the columns.
    package static let head =
        [
            padded("NUMBER", 8), padded("WRITTEN", 24), padded("", 7), padded("STAGE", 8),
            padded("TOPIC", 10), padded("REASON", 14), padded("APP", 24), "BEGINS WITH",
        ].joined(separator: "  ")

    /// All that is known of it, a line each.
    package func text(isRetried: Bool) -> String {
        var lines = [
            ("number", String(number)), ("written", ISO8601.text(milliseconds: written)),
            ("retried", isRetried ? "yes" : "no"),
            ("stage", letter.stage?.rawValue ?? "not told"), ("topic", letter.topic),
        ]
        if letter.offset >= 0 {
            lines += [
                ("partition", String(letter.partition)), ("offset", String(letter.offset)),
            ]
        }
        if let index = letter.event.index { lines.append(("event", "\(index) of the record")) }
        if let id = letter.event.id { lines.append(("id", Self.printable(id))) }
        if let app = letter.app { lines.append(("app", app.text)) }
        lines += [
            ("reason", letter.event.reason.rawValue),
            ("arrived", ISO8601.text(milliseconds: letter.append)),
        ]
        let size = letter.byteCount.map { ", of \($0) bytes" } ?? ""
        lines.append(("kept", "\(letter.excerpt.count) bytes\(letter.isWhole ? ", all" : size)"))
        let table = lines.map { Self.padded($0.0, 10) + $0.1 }.joined(separator: "\n")
        guard let raw = DeadLetter.text(letter.excerpt) else {
            return table + "\n\nbase64: \(Base64.text(letter.excerpt))\n"
        }
        return table + "\n\n" + Self.printable(raw, keepingLines: true) + "\n"
    }

    private var excerpt: String {
        guard let text = DeadLetter.text(letter.excerpt) else {
            return "\(letter.excerpt.count) bytes that are no text"
        }
        let line = Self.printable(text)
        return line.count <= Self.lineCharactersMax
            ? line : line.prefix(Self.lineCharactersMax - 3) + "..."
    }

    /// What comes from outside must not steer a terminal.
    private static func printable(_ text: String, keepingLines: Bool = false) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            let isControl =
                scalar.properties.generalCategory == .control
                || scalar.properties.generalCategory == .format
            if !isControl || (keepingLines && scalar == "\n") {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return shown
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
