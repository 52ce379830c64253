// The log on a real broker: what readers, writers and workers may rely on.
import EventLog
import Foundation
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A log on Kafka")
    struct LogTests {
        @Test("gives back what was appended, in order, and tells empty from absent", .needsKafka)
        func order() throws {
            try withKafka { log, _ in
                try log.append([
                    .init(.session, 1, "a"), .init(.session, 1, "b"), .init(.crash, 1, "x"),
                ])
                try log.append([.init(.session, 1, key: nil, ""), .init(.session, 1, nil)])
                #expect(try log.readAll(.session, 1) == ["a", "b", "", nil])
                #expect(try log.readAll(.crash, 1) == ["x"])
                #expect(try log.readAll(.session, 0) == [])
            }
        }

        @Test("shows an epoch only once it is committed, with its ends", .needsKafka)
        func commits() throws {
            try withKafka { log, _ in
                try log.append([.init(.session, 2, "in")])
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                #expect(try worker.nextChange() == .assigned([0, 1, 2, 3]))
                #expect(try worker.committedPositions(partition: 2) == [:])
                try worker.start(partition: 2, at: [:])
                #expect(try worker.read(1) == ["in"])
                let positions = [
                    TopicPartition(.session, 2): Int64(1), TopicPartition(.crash, 2): 0,
                ]
                let ends = try worker.commit(
                    [.init(.throttle, 2, "halt"), .init(.epoch, 2, "1")], positions: positions)
                #expect(
                    ends == [TopicPartition(.throttle, 2): 1, TopicPartition(.epoch, 2): 1])
                #expect(try log.readAll(.throttle, 2) == ["halt"])
                #expect(try worker.committedPositions(partition: 2) == positions)
                _ = try worker.commit([.init(.epoch, 2, "2")], positions: positions)
                #expect(try log.readAll(.epoch, 2) == ["1", "2"])
            }
        }
    }
}
