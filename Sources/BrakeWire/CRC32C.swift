// The checksum of snapshot chunks.

/// CRC-32C (Castagnoli), reflected, eight bytes at a time through tables.
enum CRC32C {
    private static let polynomial: UInt32 = 0x82f6_3b78

    /// Eight tables of 256: the effect of a byte that is followed by 0 to 7 others.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
            tables[byte] = value
        }
        for index in 256..<tables.count {
            let shorter = tables[index - 256]
            tables[index] = shorter >> 8 ^ tables[Int(shorter & 0xff)]
        }
        return tables
    }()

    /// The checksum of the bytes that follow those with the checksum given. O(length).
    static func of(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
        unsafe tables.withUnsafeBufferPointer { tables in
            var sum = ~before
            var index = 0
            while index + 8 <= bytes.count {
                let word = unsafe UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                var rest = word ^ UInt64(sum)
                sum = 0
                for table in (0..<8).reversed() {
                    unsafe sum ^= tables[table << 8 | Int(rest & 0xff)]
                    rest >>= 8
                }
                index += 8
            }
            while index < bytes.count {
                sum = unsafe sum >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: sum) ^ bytes[index])]
                index += 1
            }
            return ~sum
        }
    }
}
