// The bytes of a snapshot: whole numbers of variable length, and texts.

/// Why a snapshot cannot be restored.
package enum RestoreFault: Error, Sendable, Equatable {
    /// Written by a build whose format this one does not know.
    case unknownVersion(Int)
    /// Ends too early or says what cannot be.
    case damaged
    /// Holds more apps than the process may have.
    case tooManyApps(Int)
}

/// Appends numbers, seven bits a byte, the least significant first.
struct SnapshotWriter {
    var bytes: [UInt8] = []
    /// Of the row that is being written.
    var panes: ContiguousArray<PaneCount> = []

    @inline(__always)
    mutating func write(_ number: UInt64) {
        if number < 0x80 { return bytes.append(UInt8(truncatingIfNeeded: number)) }
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ number: Int) { write(UInt64(number)) }

    /// A number of either sign: small distances take few bytes.
    mutating func write(signed number: Int64) {
        write(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    /// Eight bytes, for hashes.
    mutating func write(fixed number: UInt64) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func write(text: some Collection<UInt8>) {
        write(text.count)
        bytes.append(contentsOf: text)
    }
}

/// Reads what `SnapshotWriter` has written; whatever the bytes are, it throws and never traps.
struct SnapshotReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }
    var bytesLeft: Int { bytes.count - place }

    @inline(__always)
    mutating func byte() throws(RestoreFault) -> UInt8 {
        guard place < bytes.count else { throw .damaged }
        place += 1
        return bytes[place - 1]
    }

    @inline(__always)
    mutating func number() throws(RestoreFault) -> UInt64 {
        if place < bytes.count, bytes[place] < 0x80 {
            place += 1
            return UInt64(bytes[place - 1])
        }
        return try longNumber()
    }

    private mutating func longNumber() throws(RestoreFault) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            guard shift < 63 || next <= 1 else { throw .damaged }
            number |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return number }
            shift += 7
        }
    }

    /// A number within bounds that the format gives it.
    mutating func number(upTo most: Int) throws(RestoreFault) -> Int {
        let number = try number()
        guard number <= UInt64(most) else { throw .damaged }
        return Int(number)
    }

    mutating func signed() throws(RestoreFault) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    mutating func fixed() throws(RestoreFault) -> UInt64 {
        guard bytes.count - place >= 8 else { throw .damaged }
        defer { place += 8 }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
    }

    mutating func text(bytesMax: Int) throws(RestoreFault) -> ArraySlice<UInt8> {
        let count = try number(upTo: bytesMax)
        guard bytes.count - place >= count else { throw .damaged }
        place += count
        return bytes[place - count..<place]
    }
}
