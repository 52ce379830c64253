// Takes an array or an object apart by its brackets alone, when some of it is not JSON, or is to
// stay as it is, byte for byte.

/// The frame of an array: brackets that match, strings that end, commas between elements.
package enum ArrayFrame {
    /// Where the elements lie, without white space around them; nil when the frame is broken.
    /// An element may be anything within matching brackets, even nothing. O(length).
    package static func elements(of bytes: UnsafeRawBufferPointer) -> [Range<Int>]? {
        unsafe parts(of: bytes, within: "[", "]")
    }

    /// The same of an object's fields, each with its key.
    static func fields(of bytes: UnsafeRawBufferPointer) -> [Range<Int>]? {
        unsafe parts(of: bytes, within: "{", "}")
    }

    /// Whether it could stand in an array as one element: brackets match, and no comma parts it.
    static func isOneElement(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe commas(in: 0..<bytes.count, of: bytes)?.isEmpty == true
    }

    private static func parts(
        of bytes: UnsafeRawBufferPointer, within opening: Unicode.Scalar, _ closing: Unicode.Scalar
    ) -> [Range<Int>]? {
        let whole = unsafe trimmed(0..<bytes.count, of: bytes)
        guard whole.count >= 2, unsafe bytes[whole.lowerBound] == UInt8(ascii: opening),
            unsafe bytes[whole.upperBound - 1] == UInt8(ascii: closing)
        else { return nil }
        let inside = whole.lowerBound + 1..<whole.upperBound - 1
        guard let commas = unsafe commas(in: inside, of: bytes) else { return nil }
        if unsafe commas.isEmpty && trimmed(inside, of: bytes).isEmpty { return [] }
        var elements: [Range<Int>] = []
        elements.reserveCapacity(commas.count + 1)
        var start = inside.lowerBound
        for comma in commas + [inside.upperBound] {
            unsafe elements.append(trimmed(start..<comma, of: bytes))
            start = comma + 1
        }
        return elements
    }

    /// The commas outside of strings and inner brackets; nil when those do not match.
    private static func commas(
        in inside: Range<Int>, of bytes: UnsafeRawBufferPointer
    ) -> [Int]? {
        var commas: [Int] = []
        var open: [UInt8] = []
        var isString = false
        var index = inside.lowerBound
        while index < inside.upperBound {
            let byte = unsafe bytes[index]
            switch byte {
            case UInt8(ascii: "\\") where isString: index += 1
            case UInt8(ascii: "\""): isString.toggle()
            case _ where isString: break
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard open.count < EventDecoder.eventBytesMax else { return nil }
                open.append(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The closing bracket is two places after the opening one in ASCII.
                guard let last = open.popLast(), last + 2 == byte else { return nil }
            case UInt8(ascii: ",") where open.isEmpty: commas.append(index)
            default: break
            }
            index += 1
        }
        return isString || !open.isEmpty || index > inside.upperBound ? nil : commas
    }

    static func trimmed(_ range: Range<Int>, of bytes: UnsafeRawBufferPointer) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, unsafe isWhite(bytes[start]) { start += 1 }
        while end > start, unsafe isWhite(bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isWhite(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\t")
    }
}
