// Protocol buffers, as much of them as reading one known message takes: fields in their order, what
// is not asked for skipped. Written here since the message is small and never nests by itself, so
// that the reader has no recursion, no allocation and no generated code; a library would bring all
// three.

/// Reads the fields of one message from a range of bytes.
struct ProtobufReader {
    /// What a field holds.
    enum Value {
        case number(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        case bytes(Range<Int>)
    }

    enum Step {
        case field(Int, Value)
        case end
        case malformed
    }

    private let source: [UInt8]
    private var at: Int
    private let end: Int

    init(_ source: [UInt8], _ range: Range<Int>) {
        self.source = source
        at = range.lowerBound
        end = range.upperBound
    }

    /// The next field. After `end` and `malformed` there is none.
    mutating func next() -> Step {
        guard at < end else { return .end }
        guard let tag = varint(), tag >> 3 > 0, tag >> 3 <= 0x1fff_ffff else { return .malformed }
        let number = Int(tag >> 3)
        switch tag & 7 {
        case 0: return varint().map { .field(number, .number($0)) } ?? .malformed
        case 1: return fixed(8).map { .field(number, .fixed64($0)) } ?? .malformed
        case 2:
            guard let length = varint(), length <= UInt64(end - at) else { return .malformed }
            let range = at..<at + Int(length)
            at = range.upperBound
            return .field(number, .bytes(range))
        case 5:
            return fixed(4).map { .field(number, .fixed32(UInt32(truncatingIfNeeded: $0))) }
                ?? .malformed
        // Groups have been given up long ago; nobody sends them.
        default: return .malformed
        }
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard at < end else { return nil }
            let byte = source[at]
            at += 1
            guard shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    private mutating func fixed(_ count: Int) -> UInt64? {
        guard end - at >= count else { return nil }
        var value: UInt64 = 0
        for index in 0..<count { value |= UInt64(source[at + index]) << UInt64(8 * index) }
        at += count
        return value
    }
}

/// Writes the few fields that answers have.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    mutating func number(_ field: Int, _ value: UInt64) {
        varint(UInt64(field) << 3)
        varint(value)
    }

    mutating func bytes(_ field: Int, _ value: [UInt8]) {
        varint(UInt64(field) << 3 | 2)
        varint(UInt64(value.count))
        bytes += value
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
