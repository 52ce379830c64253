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
        let size = bytes.count
        var hash = first ^ UInt64(truncatingIfNeeded: size)
        var index = 0
        while index &+ 8 <= size {
            hash = unsafe fold(hash ^ bytes.word(at: index), second)
            index &+= 8
        }
        hash = unsafe fold(hash ^ rest(bytes, from: index) ^ third, second &+ hash)
        return hash == 0 ? first : hash
    }

    /// The bytes that make no whole word, the first of them lowest; 0 when there are none.
    @inlinable @inline(__always)
    static func rest(_ bytes: UnsafeRawBufferPointer, from index: Int) -> UInt64 {
        let size = bytes.count
        if index == size { return 0 }
        if size > 8 {
            // The end of a word that reaches back into the one before.
            let known = UInt64(8 &- (size &- index))
            return unsafe bytes.word(at: size &- 8) &>> (8 &* known)
        }
        var rest: UInt64 = 0
        for place in index..<size {
            rest |= unsafe UInt64(bytes[place]) &<< UInt64(8 &* (place &- index))
        }
        return rest
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
