// The file in which a broker keeps a partition, for faults of disks: bytes that are no longer those
// that were written.
package import EventLog
import Foundation
package import KafkaLog

/// The first segment of a partition on the real broker. What is changed in it, the broker sends.
package struct SegmentFile {
    /// Of a batch, from its start: where what it says about itself lies.
    private static let lengthPlace = 8
    private static let headBytes = 12
    private static let checksumPlace = 17
    private static let attributesPlace = 21
    private static let recordsPlace = 61

    private let path: String

    package init(of place: TopicPartition, _ settings: KafkaSettings) throws {
        let folder = "\(settings.prefix)\(place.topic.name)-\(place.partition)"
        path =
            try KafkaFixture.shared.get().directory
            + "/data/\(folder)/00000000000000000000.log"
    }

    /// Puts a text of equal length in the place of the first other one in a batch that begins at
    /// an offset or later, and the checksum right: as if it had been written so.
    package func rewrite(_ old: String, as new: String, after offset: Int64 = 0) throws {
        precondition(old.utf8.count == new.utf8.count, "the batch keeps its length")
        try change { bytes in
            for batch in SegmentFile.batches(of: bytes) {
                let first = batch.lowerBound
                guard KafkaProxy.integer(bytes, at: first, bytes: 8) >= Int(offset) else {
                    continue
                }
                let place = (first..<batch.upperBound).first {
                    bytes[$0..<batch.upperBound].starts(with: old.utf8)
                }
                guard let place else { continue }
                bytes.replaceSubrange(place..<place + old.utf8.count, with: new.utf8)
                let sum = SegmentFile.checksum(
                    bytes[first + SegmentFile.attributesPlace..<batch.upperBound])
                for index in 0..<4 {
                    bytes[first + SegmentFile.checksumPlace + index] = UInt8(
                        truncatingIfNeeded: sum >> UInt32(24 - 8 * index))
                }
                return true
            }
            return false
        }
    }

    private struct NotFound: Error {
        let path: String
    }

    /// In place: the broker has the file open.
    private func change(_ body: (inout [UInt8]) -> Bool) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var bytes = [UInt8](try file.readToEnd() ?? Data())
        guard body(&bytes) else { throw NotFound(path: path) }
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(bytes))
    }

    private static func batches(of bytes: [UInt8]) -> [Range<Int>] {
        var batches: [Range<Int>] = []
        var first = 0
        while first + recordsPlace <= bytes.count {
            let length = KafkaProxy.integer(bytes, at: first + lengthPlace, bytes: 4)
            let end = first + headBytes + length
            guard length > 0, end <= bytes.count else { break }
            batches.append(first..<end)
            first = end
        }
        return batches
    }

    /// CRC-32C, a bit at a time.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82f6_3b78 : 0) }
        }
        return ~sum
    }
}
