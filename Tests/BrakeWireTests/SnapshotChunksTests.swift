// Images cut into chunks and joined again; damage is told with its place.

import Testing

@testable import BrakeWire

@Suite struct SnapshotChunksTests {
    @Test func `the checksum is CRC-32C`() {
        unsafe Array("123456789".utf8).withUnsafeBytes { bytes in
            #expect(unsafe CRC32C.of(bytes) == 0xe306_9283)
            let (head, tail) = unsafe (bytes[..<4], bytes[4...])
            let first = unsafe CRC32C.of(UnsafeRawBufferPointer(rebasing: head))
            #expect(
                unsafe CRC32C.of(UnsafeRawBufferPointer(rebasing: tail), after: first)
                    == 0xe306_9283)
        }
    }

    @Test func `a chunk has the bytes that the format says`() {
        let chunks = SnapshotChunks.cut([1, 2, 3], partition: 5, epoch: 258)
        let header: [UInt8] = [
            0x41, 0x42, 0x53, 0x4e, 1, 0, 0, 0, 0x9b, 0x8b, 0x72, 0x5a, 5, 0, 0, 0,
            2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        ]
        #expect(chunks == [header + [1, 2, 3]])
    }

    @Test(arguments: [0, 1, 524_248, 524_249, 1_500_000])
    func `an image comes back from its chunks`(length: Int) throws {
        let image = image(length)
        let chunks = SnapshotChunks.cut(image, partition: 3, epoch: 9)
        #expect(chunks.count == SnapshotChunks.count(imageBytes: length))
        #expect(chunks.allSatisfy { $0.count <= SnapshotChunks.chunkBytesMax })
        #expect(try join(chunks, like: chunks.count, length) == image)
    }

    @Test func `every flipped byte and every cut is noticed`() {
        let chunk = SnapshotChunks.cut(image(40), partition: 3, epoch: 9)[0]
        for index in chunk.indices {
            var torn = chunk
            torn[index] ^= 0x10
            #expect(throws: SnapshotFault.self) { try join([torn], like: 1, 40) }
            #expect(throws: SnapshotFault.torn(index: 0)) {
                try join([Array(chunk[..<index])], like: 1, 40)
            }
        }
    }

    @Test func `a chunk that is torn, missing or foreign is told with its place`() {
        let length = 1_200_000
        let good = SnapshotChunks.cut(image(length), partition: 3, epoch: 9)
        var torn = good
        torn[1][1_000] ^= 1
        #expect(throws: SnapshotFault.torn(index: 1)) { try join(torn, like: 3, length) }
        let gap = [good[0], good[2]]
        #expect(throws: SnapshotFault.missing(index: 1)) { try join(gap, like: 3, length) }
        let short = Array(good[..<2])
        #expect(throws: SnapshotFault.missing(index: 2)) { try join(short, like: 3, length) }
        let foreign = [good[0], SnapshotChunks.cut(image(length), partition: 3, epoch: 8)[1]]
        #expect(throws: SnapshotFault.missing(index: 1)) { try join(foreign, like: 3, length) }
        var newer = good
        newer[0][4] = 2
        #expect(throws: SnapshotFault.unknownVersion(2)) { try join(newer, like: 3, length) }
    }

    private func image(_ length: Int) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    @discardableResult
    private func join(_ chunks: [[UInt8]], like count: Int, _ length: Int) throws -> [UInt8] {
        var image = SnapshotImage(partition: 3, epoch: 9, chunks: count, bytes: length)
        for chunk in chunks {
            try unsafe chunk.withUnsafeBytes { try unsafe image.append($0) }
        }
        return try image.finish()
    }
}
