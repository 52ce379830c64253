// Bytes as text, for records that are not UTF-8.

/// RFC 4648, with padding.
package enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8: UInt32] = Dictionary(
        uniqueKeysWithValues: digits.enumerated().map { ($1, UInt32($0)) })

    package static func text(_ bytes: [UInt8]) -> String {
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

    /// The bytes of a text, nil when it is none of ours.
    package static func bytes(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3)
        for start in stride(from: 0, to: letters.count, by: 4) {
            let isLast = start + 4 == letters.count
            let group = letters[start..<start + 4]
            let padding = isLast ? group.reversed().prefix(2).prefix { $0 == 0x3d }.count : 0
            var word: UInt32 = 0
            for letter in group.dropLast(padding) {
                guard let value = values[letter] else { return nil }
                word = word << 6 | value
            }
            word <<= 6 * UInt32(padding)
            for index in 0..<3 - padding {
                bytes.append(UInt8(truncatingIfNeeded: word >> (16 - 8 * UInt32(index))))
            }
        }
        return bytes
    }
}
