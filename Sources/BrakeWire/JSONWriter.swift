// Writes JSON: the same bytes for the same values, always.

/// Appends JSON to bytes, with commas where they belong. Keys are written in the order given.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 512) { bytes.reserveCapacity(capacity) }

    /// The bytes of the whole document which the body writes.
    package static func bytes(
        capacity: Int = 512, _ body: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity)
        body(&writer)
        return writer.bytes
    }

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        nest("{", "}", body)
    }

    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        nest("[", "]", body)
    }

    /// A key that needs no escape; its value is what is written next.
    package mutating func key(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(
                start: key.utf8Start, count: key.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        endKey()
    }

    /// A key that somebody else has made.
    package mutating func key(foreign key: String) {
        string(key)
        endKey()
    }

    private mutating func endKey() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func field(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { string(value) } else { null() }
    }

    package mutating func field(_ key: StaticString, _ value: some FixedWidthInteger) {
        self.key(key)
        integer(value)
    }

    package mutating func field(foreign key: String, _ value: some FixedWidthInteger) {
        self.key(foreign: key)
        integer(value)
    }

    package mutating func field(_ key: StaticString, _ value: Double?) {
        self.key(key)
        if let value { real(value) } else { null() }
    }

    package mutating func field(_ key: StaticString, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    package mutating func object(_ key: StaticString, _ body: (inout JSONWriter) -> Void) {
        self.key(key)
        object(body)
    }

    package mutating func array(_ key: StaticString, _ body: (inout JSONWriter) -> Void) {
        self.key(key)
        array(body)
    }

    package mutating func integer(_ value: some FixedWidthInteger) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        // From the last digit to the first: those of 64 bits are 20 at most.
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var first = digits.count
        var rest = UInt64(value.magnitude)
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        for place in first..<digits.count { bytes.append(digits[place]) }
    }

    /// The shortest digits that give this number back; null for what JSON cannot say.
    package mutating func real(_ value: Double) {
        if value.isFinite { scalar(value.description) } else { null() }
    }

    package mutating func bool(_ value: Bool) { scalar(value ? "true" : "false") }

    package mutating func null() { scalar("null") }

    /// A document, without the space that it was written with.
    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.bool(bool)
        case .integer(let integer): self.integer(integer)
        case .real(let real): self.real(real)
        case .text(let text): string(text)
        case .array(let values):
            array { list in
                for value in values { list.write(value) }
            }
        case .object(let fields):
            object { object in
                for field in fields {
                    object.key(foreign: field.key)
                    object.write(field.value)
                }
            }
        }
    }

    /// A value that is JSON already.
    package mutating func raw(_ value: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
    }

    package mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            // Most texts are keys, words and ids: as they are.
            if unsafe !JSONWriter.needsEscapes(utf8) {
                unsafe bytes.append(contentsOf: utf8)
            } else {
                for index in 0..<utf8.count { unsafe append(escaped: utf8[index]) }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscapes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found = false
        // To the end, whatever is found: so the compiler takes many bytes at a time.
        for index in 0..<bytes.count { found = unsafe needsEscape(bytes[index]) || found }
        return found
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(escaped byte: UInt8) {
        guard JSONWriter.needsEscape(byte) else { return bytes.append(byte) }
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(Hex.digit(byte >> 4))
            bytes.append(Hex.digit(byte & 0xf))
        }
    }

    private mutating func nest(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ body: (inout JSONWriter) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: open))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: close))
        needsComma = true
    }

    private mutating func scalar(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

/// Hexadecimal digits, lower case.
enum Hex {
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Sixteen digits.
    static func text(_ value: UInt64) -> String {
        let digits = (0..<16).map { digit(UInt8(truncatingIfNeeded: value >> (60 - 4 * $0)) & 0xf) }
        return String(decoding: digits, as: UTF8.self)
    }
}
