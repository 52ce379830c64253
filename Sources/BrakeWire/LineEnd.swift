// Where a line ends, looked for eight bytes at a time: lines are all that a file or an upload is
// made of.

package enum LineEnd {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080
    private static let newlines = ones &* 0x0a

    /// The place of the first newline from a place on; nil when there is none. O(distance).
    package static func place(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        while place &+ 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            // A byte of zeros is where a newline was; the lowest that shows is one for certain.
            // After Sean Anderson, "Bit Twiddling Hacks", "Determine if a word has a zero byte".
            let zeros = UInt64(littleEndian: word) ^ newlines
            let found = (zeros &- ones) & ~zeros & highBits
            if found != 0 { return place &+ found.trailingZeroBitCount / 8 }
            place &+= 8
        }
        while place < bytes.count {
            if unsafe bytes[place] == UInt8(ascii: "\n") { return place }
            place &+= 1
        }
        return nil
    }
}
