// Dead letters retried on a real broker.
import BrakeModel
import BrakeWire
import DeadLetters
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("Dead letters on Kafka")
    struct DeadLetterTests {
        private static func crash(_ id: Int, _ more: String = "") -> String {
            #"{"type":"crash","app":"app","id":"c\#(id)"\#(more),"at":1700000000000}"#
        }

        /// Appends records to the input of `app`, and a letter about each.
        private func refuse(_ values: [String], in log: any EventLog) throws {
            let key = Array("app".utf8)
            let partition = Partitioner.partition(of: key, partitions: log.partitions)
            let place = TopicPartition(.crash, partition)
            let first = try log.bounds(of: place).upperBound
            try log.append(
                values.map {
                    OutgoingRecord(.crash, partition: partition, key: key, value: Array($0.utf8))
                })
            try log.append(
                values.enumerated().map { index, value in
                    let letter = unsafe Array(value.utf8).withUnsafeBytes { bytes in
                        unsafe DeadLetter(
                            stage: .evaluate, topic: "crash", partition: partition,
                            offset: first + Int64(index), append: 1_700_000_001_000,
                            app: AppID("app"),
                            event: RejectedEvent(index: nil, reason: .badField), value: bytes)
                    }
                    return OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode())
                })
        }

        private func crashes(_ log: any EventLog) throws -> [String?] {
            let partition = Partitioner.partition(
                of: Array("app".utf8), partitions: log.partitions)
            return try log.readAll(.crash, partition)
        }

        private func retry(_ log: any EventLog) -> DeadRetry {
            DeadRetry(log, filter: DeadFilter(), by: "test", now: { 1_700_000_002_000 })
        }

        @Test("are retried in order and once, long ones from their input", .needsKafka)
        func retried() async throws {
            try await withKafka { log, _ in
                let stack = String(repeating: "x", count: 2_000)
                let values = (0..<450).map {
                    Self.crash($0, $0 % 100 == 7 ? #","stack":"\#(stack)""# : "")
                }
                try refuse(values, in: log)
                let outcome = try retry(log).run()
                #expect(outcome.retried == 450 && outcome.left.isEmpty)
                #expect(try crashes(log) == values + values)
                #expect(try retry(log).run().retriedBefore == 450)
                #expect(try crashes(log).count == 900)
            }
        }

        @Test("of two who retry at a time the later one fences the other", .needsKafka)
        func fenced() async throws {
            try await withKafka { log, _ in
                try refuse((0..<300).map { Self.crash($0) }, in: log)
                var other: DeadRetry.Outcome?
                let remedy = try fault {
                    _ = try retry(log).run { _ in
                        if other == nil { other = try? retry(log).run() }
                    }
                }.remedy
                #expect(remedy == .fenced)
                let done = try #require(other)
                #expect(done.retried + done.retriedBefore == 300)
                #expect(try retry(log).run().retriedBefore == 300)
                #expect(try crashes(log).count == 600)
            }
        }

        @Test("an append that was left open is settled by the next of its name", .needsKafka)
        func settled() async throws {
            try await withKafka { log, settings in
                let client = try TransactionClient(
                    id: settings.appenderID("dead-retry"), settings: settings)
                let deadline = LogClock.steady.now() + 20_000
                try client.start(deadline: deadline)
                try client.begin(deadline: deadline)
                let board = client.sender.client.context.deliveries
                let ticket = board.open(count: 1)
                try client.sender.send([.init(.crash, 1, "open")], ticket, deadline: deadline)
                #expect(board.close(ticket, waitMilliseconds: 20_000).isComplete)
                let appender = try log.makeExclusiveAppender(name: "dead-retry")
                defer { appender.close() }
                try appender.append([.init(.crash, 1, "after"), .init(.dead, 0, "mark")])
                #expect(try log.readAll(.crash, 1) == ["after"])
                #expect(try log.readAll(.dead) == ["mark"])
            }
        }
    }
}
