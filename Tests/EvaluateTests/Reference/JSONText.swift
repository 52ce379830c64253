// A JSON value whose numbers stay the text they were written as: nanoseconds do not fit a double,
// and a reference must not lose what the code under test keeps. Plain recursive descent.
import Foundation

enum JSONText: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONText])
    case object([String: JSONText])

    /// The value of a text, nil if it is not JSON from its first byte to its last.
    init?(_ text: some StringProtocol) {
        var reader = JSONTextReader(bytes: Array(text.utf8))
        guard let value = reader.value(), reader.isAtEnd else { return nil }
        self = value
    }

    /// A member of an object; a null, and any member of something else, is nil.
    subscript(_ key: String) -> JSONText? {
        guard case .object(let members) = self, let member = members[key] else { return nil }
        return member == .null ? nil : member
    }

    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    var double: Double? {
        guard case .number(let text) = self else { return nil }
        return Double(text)
    }

    var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }

    var array: [JSONText]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    var object: [String: JSONText]? {
        guard case .object(let members) = self else { return nil }
        return members
    }
}

private struct JSONTextReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return index == bytes.count
        }
    }

    mutating func value() -> JSONText? {
        skipSpace()
        guard index < bytes.count else { return nil }
        switch bytes[index] {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map(JSONText.string)
        case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return word("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0a, 0x0d: index += 1
            default: return
            }
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[index...].starts(with: word.utf8) else { return false }
        index += word.utf8.count
        return true
    }

    private mutating func number() -> JSONText? {
        let start = index
        while index < bytes.count {
            let byte = bytes[index]
            let isDigit = byte >= 0x30 && byte <= 0x39
            let isOther =
                byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e")
                || byte == UInt8(ascii: "E")
            guard isDigit || isOther else { break }
            index += 1
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        return Double(text) == nil ? nil : .number(text)
    }

    private mutating func array() -> JSONText? {
        index += 1
        var elements: [JSONText] = []
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            guard let element = value() else { return nil }
            elements.append(element)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    private mutating func object() -> JSONText? {
        index += 1
        var members: [String: JSONText] = [:]
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\""), let key = string(),
                take(UInt8(ascii: ":")), let member = value()
            else { return nil }
            members[key] = member
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }

    /// Text without escapes is cut out as it stands; what has some is left to Foundation.
    private mutating func string() -> String? {
        let start = index
        var hasEscape = false
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\") {
                hasEscape = true
                index += 1
            }
            index += 1
        }
        guard index < bytes.count else { return nil }
        index += 1
        if hasEscape {
            return try? JSONDecoder().decode(String.self, from: Data(bytes[start..<index]))
        }
        return String(decoding: bytes[start + 1..<index - 1], as: UTF8.self)
    }
}
