// The hash by which ids are remembered. It is part of the snapshot format: never change it.

/// A 64-bit hash of a text that is the same in every process, build and version.
///
/// Eight bytes at a time through a folded 64 x 64 -> 128 bit multiplication, as in the wyhash
/// family (Wang Yi, "wyhash", public domain); the constants are the first digits of pi. Not for
/// secrets: whoever knows it can make ids collide, which harms the counts of his own app only,
/// since app ids themselves are compared in full.
public enum StableHash {
    @usableFromInline static let first: UInt64 = 0x243f_6a88_85a3_08d3
    @usableFromInline static let second: UInt64 = 0x1319_8a2e_0370_7344
    @usableFromInline static let third: UInt64 = 0xa409_3822_299f_31d0

    /// The hash of the bytes; never 0, which stands for "no text".
    @inlinable
    public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = first ^ UInt64(truncatingIfNeeded: bytes.count)
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = fold(hash ^ UInt64(littleEndian: word), second)
            index &+= 8
        }
        var last: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count {
            last |= unsafe UInt64(bytes[index]) << shift
            shift &+= 8
            index &+= 1
        }
        hash = fold(hash ^ last ^ third, second &+ hash)
        return hash == 0 ? first : hash
    }

    /// The hash of the text's UTF-8.
    public static func of(_ text: String) -> UInt64 {
        var text = text
        return text.withUTF8 { unsafe of(UnsafeRawBufferPointer($0)) }
    }

    /// One hash of two, where the order matters.
    @inlinable
    public static func combine(_ one: UInt64, _ other: UInt64) -> UInt64 {
        fold(one ^ first, other ^ third)
    }

    @inlinable
    static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
