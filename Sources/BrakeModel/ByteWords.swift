// Bytes taken eight at a time: ids, of which there are as many as events.

extension UnsafeRawBufferPointer {
    /// Whether these bytes are the same, eight of them at a time.
    @unsafe
    @inlinable
    @inline(always)
    package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard count >= 8 else { return (0..<count).allSatisfy { unsafe self[$0] == other[$0] } }
        var index = 0
        while index < count &- 8 {
            if unsafe word(at: index) != other.word(at: index) { return false }
            index &+= 8
        }
        // The last eight reach back into those before.
        return unsafe word(at: count &- 8) == other.word(at: count &- 8)
    }

    /// Eight bytes as a number, the first of them lowest.
    @unsafe
    @inlinable
    @inline(always)
    package func word(at index: Int) -> UInt64 {
        unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}
