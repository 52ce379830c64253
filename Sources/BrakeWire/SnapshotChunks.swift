// An image of the state in pieces that a topic takes, each of which can be checked alone.

/// Cuts an image into chunks. A chunk is a header of 40 bytes, all numbers little endian, and a
/// part of the image:
///
/// | bytes | |
/// |---|---|
/// | 0 ..< 4 | `ABSN` |
/// | 4 ..< 8 | version of the framing |
/// | 8 ..< 12 | CRC-32C of everything after it |
/// | 12 ..< 16 | partition |
/// | 16 ..< 24 | epoch |
/// | 24 ..< 28 | index of the chunk |
/// | 28 ..< 32 | count of chunks |
/// | 32 ..< 40 | length of the image |
package enum SnapshotChunks {
    /// The most bytes of a chunk with its header.
    package static let chunkBytesMax = 512 * 1_024
    /// The most bytes of an image.
    package static let imageBytesMax = 2 * 1_024 * 1_024 * 1_024

    static let magic: UInt32 = 0x4e53_4241
    static let version: UInt32 = 1
    static let headerBytes = 40
    static let partBytesMax = chunkBytesMax - headerBytes
    /// What the checksum covers begins here.
    static let checkedFrom = 12

    /// How many chunks an image of so many bytes has; an empty one has one too.
    package static func count(imageBytes: Int) -> Int {
        max(1, (imageBytes + partBytesMax - 1) / partBytesMax)
    }

    /// The chunks of an image in their order. O(length).
    package static func cut(_ image: [UInt8], partition: Int, epoch: Int64) -> [[UInt8]] {
        precondition(image.count <= imageBytesMax, "an image has at most 2 GB")
        let count = count(imageBytes: image.count)
        return (0..<count).map { index in
            let start = index * partBytesMax
            let part = image[start..<min(start + partBytesMax, image.count)]
            var chunk: [UInt8] = []
            chunk.reserveCapacity(headerBytes + part.count)
            chunk.append(magic)
            chunk.append(version)
            chunk.append(UInt32(0))
            chunk.append(UInt32(truncatingIfNeeded: partition))
            chunk.append(UInt64(bitPattern: epoch))
            chunk.append(UInt32(truncatingIfNeeded: index))
            chunk.append(UInt32(truncatingIfNeeded: count))
            chunk.append(UInt64(image.count))
            chunk.append(contentsOf: part)
            let sum = unsafe chunk.withUnsafeBytes { bytes in
                unsafe CRC32C.of(UnsafeRawBufferPointer(rebasing: bytes[checkedFrom...]))
            }
            for place in 0..<4 {
                chunk[8 + place] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(place)))
            }
            return chunk
        }
    }
}

/// Why chunks do not make an image.
package enum SnapshotFault: Error, Sendable, Equatable {
    /// The bytes of this chunk are not those that were written.
    case torn(index: Int)
    /// This chunk is not there where it should be.
    case missing(index: Int)
    /// The framing is of a version that this build does not know.
    case unknownVersion(UInt32)
}

/// Joins the chunks of one image, handed in one by one in the order of the topic.
package struct SnapshotImage: Sendable {
    private let partition: Int
    private let epoch: Int64
    private let count: Int
    private let imageBytes: Int
    private var next = 0
    private var bytes: [UInt8] = []

    /// An image as an epoch record points to it.
    package init(partition: Int, epoch: Int64, chunks: Int, bytes imageBytes: Int) {
        self.partition = partition
        self.epoch = epoch
        self.imageBytes = imageBytes
        count = chunks
        // What a damaged pointer claims is not worth memory before the chunks bear it out.
        bytes.reserveCapacity(min(max(imageBytes, 0), SnapshotChunks.chunkBytesMax))
    }

    /// Whether all chunks are there.
    package var isWhole: Bool { next == count && bytes.count == imageBytes }

    /// Adds the next chunk. One of another image means that ours is missing.
    package mutating func append(_ chunk: UnsafeRawBufferPointer) throws(SnapshotFault) {
        guard chunk.count >= SnapshotChunks.headerBytes,
            chunk.count <= SnapshotChunks.chunkBytesMax,
            unsafe chunk.number(at: 0, UInt32.self) == SnapshotChunks.magic
        else { throw .torn(index: next) }
        let version = unsafe chunk.number(at: 4, UInt32.self)
        guard version == SnapshotChunks.version else { throw .unknownVersion(version) }
        let checked = unsafe UnsafeRawBufferPointer(rebasing: chunk[SnapshotChunks.checkedFrom...])
        guard unsafe CRC32C.of(checked) == chunk.number(at: 8, UInt32.self) else {
            throw .torn(index: next)
        }
        let part = unsafe UnsafeRawBufferPointer(rebasing: chunk[SnapshotChunks.headerBytes...])
        guard unsafe Int(chunk.number(at: 12, UInt32.self)) == partition,
            unsafe Int64(bitPattern: chunk.number(at: 16, UInt64.self)) == epoch,
            unsafe Int(chunk.number(at: 24, UInt32.self)) == next,
            unsafe Int(chunk.number(at: 28, UInt32.self)) == count,
            unsafe chunk.number(at: 32, UInt64.self) == UInt64(clamping: imageBytes),
            bytes.count + part.count <= imageBytes
        else { throw .missing(index: next) }
        unsafe bytes.append(contentsOf: part)
        next += 1
    }

    /// The image, once all its chunks are there.
    package consuming func finish() throws(SnapshotFault) -> [UInt8] {
        guard isWhole else { throw .missing(index: next) }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        for place in 0..<Number.bitWidth / 8 {
            append(UInt8(truncatingIfNeeded: number >> Number(8 * place)))
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The number at an offset that the caller has checked to lie within.
    fileprivate func number<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, _ type: Number.Type
    ) -> Number {
        unsafe Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
