// What readers see of transactions, deletions and ends on a real broker.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A reader on Kafka")
    struct ReaderTests {
        @Test("comes to its end although the last offsets are markers", .needsKafka)
        func markersAtTheEnd() async throws {
            try await withKafka { log, settings in
                let (committed, aborted) = (TopicPartition(.epoch, 0), TopicPartition(.epoch, 1))
                try ForeignTransaction(settings, writing: [.init(.epoch, 0, "yes")]).commit()
                try ForeignTransaction(settings, writing: [.init(.epoch, 1, "no")]).abort()
                let reader = try log.makeReader(from: [committed: 0, aborted: 0])
                defer { reader.close() }
                #expect(try reader.readToEnd() == ["yes"])
                #expect(
                    try reader.positions == [
                        committed: log.bounds(of: committed).upperBound,
                        aborted: log.bounds(of: aborted).upperBound,
                    ])
                #expect(reader.positions == [committed: 2, aborted: 2])
            }
        }

        @Test("waits for what an open transaction holds back, and then has it", .needsKafka)
        func openTransaction() async throws {
            try await withKafka { log, settings in
                let place = TopicPartition(.epoch, 0)
                let foreign = try ForeignTransaction(settings, writing: [.init(.epoch, 0, "open")])
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                _ = try worker.nextChange()
                _ = try worker.commit([.init(.epoch, 0, "newer")], positions: [:])
                let reader = try log.makeReader(from: [place: 0])
                defer { reader.close() }
                let batch = LogBatch()
                for _ in 0..<10 {
                    let outcome = try reader.poll(into: batch, waitMilliseconds: 50)
                    #expect(outcome.ended == [] && batch.isEmpty)
                }
                try foreign.abort()
                #expect(try reader.readToEnd() == ["newer"])
            }
        }

        @Test("starts at the end of a log that was emptied", .needsKafka)
        func emptied() async throws {
            try await withKafka { log, settings in
                try log.append([.init(.throttle, 0, "a"), .init(.session, 0, "b")])
                try KafkaAdministrator(settings).deleteRecords(
                    TopicPartition(.session, 0), before: nil)
                #expect(try log.bounds(of: TopicPartition(.session, 0)) == 1..<1)
                #expect(try log.readAll(.session, 0) == [])
                try log.append([.init(.session, 0, "c")])
                #expect(try log.readAll(.session, 0) == ["c"])
            }
        }

        @Test("reads a compacted table through its gaps, to a tombstone at the end", .needsKafka)
        func compacted() async throws {
            try await withKafka { log, settings in
                try KafkaAdministrator(settings).alter(
                    .throttle, partitions: 4,
                    [
                        "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
                        "max.compaction.lag.ms": "100",
                    ])
                try log.append((0..<50).map { .init(.throttle, 0, key: "a", "\($0)") })
                let place = TopicPartition(.throttle, 0)
                _ = try eventually("compaction") { () -> Bool? in
                    try log.append([.init(.throttle, 0, key: "b", nil)])
                    return try log.readAll(.throttle, 0).first == "49" ? true : nil
                }
                let reader = try log.makeReader(from: [place: 0])
                defer { reader.close() }
                let values = try reader.readToEnd()
                #expect(values.first == "49")
                #expect(values.last == .some(nil))
                #expect(try reader.positions[place] == log.bounds(of: place).upperBound)
            }
        }

        @Test("stops at an offset that is gone, and never skips", .needsKafka)
        func deletedAhead() async throws {
            try await withKafka { log, settings in
                let place = TopicPartition(.crash, 3)
                try log.append((0..<10).map { .init(.crash, 3, "\($0)") })
                try KafkaAdministrator(settings).deleteRecords(place, before: 4)
                let reader = try log.makeReader(from: [place: 2])
                defer { reader.close() }
                let batch = LogBatch()
                let gone = try fault {
                    for _ in 0..<200 { _ = try reader.poll(into: batch, waitMilliseconds: 50) }
                }
                #expect(gone.remedy == .stop)
                #expect(gone.reason == "offset 2 is no longer there, the first is 4")
                #expect(gone.place.hasSuffix("\(settings.prefix)crash[3]"))
                #expect(reader.positions == [place: 2])
                #expect(try log.readAll(.crash, 3) == (4..<10).map { "\($0)" })
            }
        }

        @Test("fills no batch beyond its limit", .needsKafka)
        func limits() async throws {
            try await withKafka { log, _ in
                let value = String(repeating: "v", count: 900)
                for partition in 0..<4 {
                    try log.append((0..<100).map { _ in .init(.session, partition, value) })
                }
                let places = log.places(of: .session)
                let reader = try log.makeReader(
                    from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
                defer { reader.close() }
                let batch = LogBatch(bytesMax: 20_000)
                var count = 0
                _ = try eventually("all records") { () -> Bool? in
                    _ = try reader.poll(into: batch, waitMilliseconds: 20)
                    #expect(batch.bytes <= 20_000)
                    count += batch.records.count
                    return count == 400 ? true : nil
                }
            }
        }

        @Test("proves that nothing waits, again and again, while nothing comes", .needsKafka)
        func freshProofs() async throws {
            try await withKafka { log, _ in
                try log.append([.init(.session, 0, "a")])
                let places = [TopicPartition(.session, 0), TopicPartition(.crash, 0)]
                let reader = try log.makeReader(from: [places[0]: 0, places[1]: 0])
                defer { reader.close() }
                #expect(try reader.readToEnd() == ["a"])
                var last: Int64 = 0
                for _ in 0..<5 {
                    let before = LogClock.wall.now()
                    let outcome = try reader.poll(into: LogBatch(), waitMilliseconds: 30)
                    #expect(outcome.ended == Set(places))
                    #expect(outcome.asOf > last)
                    #expect(outcome.asOf >= before - PartitionFetcher.visibilityMilliseconds)
                    last = outcome.asOf
                }
            }
        }

        @Test("gives no proof while the log is out of reach, and goes on after it", .needsKafka)
        func noProofWithoutBroker() async throws {
            try await withKafka(.alone) { log, _ in
                let kafka = try KafkaFixture.shared.get()
                try log.append([.init(.session, 0, "a")])
                let reader = try log.makeReader(from: [TopicPartition(.session, 0): 0])
                defer { reader.close() }
                #expect(try reader.readToEnd() == ["a"])
                try kafka.broker("pause")
                let frozen = LogClock.wall.now()
                for _ in 0..<10 {
                    let outcome = try reader.poll(into: LogBatch(), waitMilliseconds: 100)
                    #expect(outcome.asOf <= frozen - PartitionFetcher.visibilityMilliseconds)
                }
                try kafka.broker("resume")
                try log.append([.init(.session, 0, "b")])
                #expect(try reader.readToEnd() == ["b"])
            }
        }
    }
}
