// Reading many partitions fairly into one batch.
import EventLog
import Testing

@Suite("A follower")
struct FollowerTests {
    /// 40 partitions of 50 records each, in batches that hold 30 records of one.
    @Test(
        "visits every partition again and again until all have ended",
        arguments: [1, 7, 16, 17, 40])
    func turns(partitions: Int) {
        let places = (0..<partitions).map { TopicPartition(.session, $0) }
        var follower = Follower(Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
        let batch = LogBatch(bytesMax: 30 * 164)
        var lastVisit = [Int](repeating: 0, count: partitions)
        var (fill, read) = (0, 0)
        while true {
            fill += 1
            batch.reset()
            let ended = try? follower.fill(batch, bounds: { _ in 0..<50 }) {
                scan($0, $1, batch, $2)
            }
            read += batch.records.count
            for record in batch.records { lastVisit[record.partition] = fill }
            #expect(batch.bytes <= batch.bytesMax)
            if ended?.count == partitions { break }
            #expect(batch.records.count >= 15)
            for place in places where follower.positions[place] != 50 {
                #expect(fill - lastVisit[place.partition] <= (partitions + 15) / 16)
            }
        }
        #expect(read == 50 * partitions)
        #expect(places.allSatisfy { follower.positions[$0] == 50 })
    }

    @Test("stays where it was when a look-up fails")
    func fault() {
        let places = (0..<3).map { TopicPartition(.crash, $0) }
        var follower = Follower(Dictionary(uniqueKeysWithValues: places.map { ($0, 5) }))
        let before = follower.positions
        let batch = LogBatch()
        #expect(throws: LogFault.self) {
            try follower.fill(batch, bounds: { _ in 0..<50 }) {
                place, range, limit throws(LogFault) in
                if place.partition == 2 {
                    throw LogFault("read", at: "here", reason: "a fault", remedy: .retry)
                }
                return scan(place, range, batch, limit)
            }
        }
        #expect(!batch.isEmpty)
        #expect(follower.positions == before)
    }

    /// Records of 100 bytes at every offset.
    private func scan(
        _ place: TopicPartition, _ range: Range<Int64>, _ batch: LogBatch, _ limit: Int
    ) -> Int64 {
        let value = [UInt8](repeating: 1, count: 100)
        for offset in range {
            guard batch.hasRoom(forBytes: 100, upTo: limit) else { return offset }
            let isAdded = unsafe value.withUnsafeBytes { bytes in
                unsafe batch.append(
                    place.topic, partition: place.partition, offset: offset, append: 0, key: nil,
                    value: bytes)
            }
            #expect(isAdded)
        }
        return range.upperBound
    }
}
