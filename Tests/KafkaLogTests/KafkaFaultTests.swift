// Faults of brokers and connections, on librdkafka's mock cluster.
import CRdKafka
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Synchronization
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A log on a faulty Kafka")
    struct FaultTests {
        @Test("names the topic when partition counts differ")
        func unequalPartitions() throws {
            let cluster = try MockCluster(partitions: 4, crashPartitions: 5)
            let refused = try fault { _ = try cluster.open() }
            #expect(refused.remedy == .stop)
            #expect(refused.place.hasSuffix("crash"))
            #expect(refused.reason.contains("5") && refused.reason.contains("4"))
        }

        @Test("asks again for a partition that is unknown for a moment, and says when it is gone")
        func unknownPartition() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            try log.append([.init(.session, 0, "a")])
            let place = TopicPartition(.session, 0)
            cluster.fail(
                .listOffsets, Array(repeating: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, count: 3))
            #expect(try log.bounds(of: place) == 0..<1)
            let gone = try fault { _ = try log.bounds(of: TopicPartition(.session, 99)) }
            #expect(gone.remedy == .stop)
            #expect(gone.place.hasSuffix("session[99]"))
            #expect(gone.reason.contains("_UNKNOWN_PARTITION"))
            // It is there, whatever a broker says for long.
            cluster.fail(
                .listOffsets,
                Array(repeating: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, count: 10_000))
            let passing = try fault { _ = try log.bounds(of: place) }
            #expect(passing.remedy == .retry)
        }

        @Test("waits for a broker at start, says so, and gives up in the end")
        func unreachable() throws {
            let lines = Mutex<[String]>([])
            var settings = KafkaSettings(bootstrap: "127.0.0.1:1")
            settings.startTimeoutMilliseconds = 1_500
            settings.log = { line in lines.withLock { $0.append(line.message) } }
            let gone = try fault { _ = try KafkaLog(settings) }
            #expect(gone.remedy == .retry)
            #expect(gone.place == "kafka:127.0.0.1:1")
            #expect(gone.reason.contains("127.0.0.1:1"))
            #expect(lines.withLock { $0.contains { $0.hasPrefix("waiting for Kafka at") } })
        }

        @Test("gives an append back after its time, with the broker's name, and goes on later")
        func slowAppend() throws {
            let cluster = try MockCluster()
            let log = try cluster.open { $0.appendTimeoutMilliseconds = 1_500 }
            defer { log.close() }
            try log.append([.init(.session, 0, "a")])
            cluster.setDown(1, true)
            let late = try fault { try log.append([.init(.session, 0, "b")]) }
            #expect(late.remedy == .retry)
            #expect(late.reason.contains(cluster.settings.bootstrap))
            cluster.setDown(1, false)
            _ = try eventually("an append") { () -> Bool? in
                do {
                    try log.append([.init(.session, 0, "c")])
                    return true
                } catch {
                    return nil
                }
            }
            let values = try log.readAll(.session, 0)
            #expect(values.first == "a" && values.last == "c")
        }

        @Test("keeps appends of many threads apart")
        func threads() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                for index in 0..<25 {
                    do {
                        try log.append([
                            .init(.session, thread % 4, "\(thread)/\(index)"),
                            .init(.crash, thread % 4, "\(thread)/\(index)"),
                        ])
                    } catch {
                        Issue.record(error)
                    }
                }
            }
            let values = try (0..<4).flatMap { try log.readAll(.crash, $0) }
            #expect(values.count == 200)
            for thread in 0..<8 {
                #expect(
                    values.filter { $0?.hasPrefix("\(thread)/") == true }
                        == (0..<25).map { "\(thread)/\($0)" })
            }
        }

        @Test("lets a reader come to the end it saw, though writing never ceases")
        func constantWrites() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            let isOver = Atomic<Bool>(false)
            let written = DispatchSemaphore(value: 0)
            Thread {
                while !isOver.load(ordering: .relaxed) {
                    try? log.append([.init(.throttle, 0, "x")])
                }
                written.signal()
            }.start()
            defer {
                isOver.store(true, ordering: .relaxed)
                written.wait()
            }
            let place = TopicPartition(.throttle, 0)
            let target = try eventually("writes") {
                let end = try log.bounds(of: place).upperBound
                return end > 20 ? end : nil
            }
            let reader = try log.makeReader(from: [place: 0])
            defer { reader.close() }
            let batch = LogBatch()
            _ = try eventually("the end that was seen") { () -> Bool? in
                _ = try reader.poll(into: batch, waitMilliseconds: 20)
                return reader.positions[place, default: 0] >= target ? true : nil
            }
        }

        /// More than three times as much as may wait, in batches that compress to a twentieth and
        /// less, behind a reader that takes next to nothing.
        @Test("keeps the room for what waits within its budget, however many partitions it reads")
        func manyPartitions() async throws {
            // In a process of its own, where nobody else takes memory.
            await #expect(processExitsWith: .success) {
                let partitions = 250
                let cluster = try MockCluster(partitions: partitions)
                let log = try cluster.open()
                let places = Topic.inputs.flatMap { log.places(of: $0) }
                let value = String(repeating: "v", count: 1_000)
                for first in (0..<7).flatMap({ _ in stride(from: 0, to: places.count, by: 20) }) {
                    try log.append(
                        places[first..<first + 20].flatMap { place in
                            (0..<100).map { _ in .init(place.topic, place.partition, value) }
                        })
                }
                let before = try residentKilobytes()
                let reader = try log.makeReader(
                    from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
                let batch = LogBatch(bytesMax: 10_000)
                var (most, since) = (0, LogClock.steady.now())
                _ = try eventually("memory that grows no more") { () -> Bool? in
                    _ = try reader.poll(into: batch, waitMilliseconds: 20)
                    let now = try residentKilobytes()
                    if now > most + 1_024 { (most, since) = (now, LogClock.steady.now()) }
                    return LogClock.steady.now() - since > 3_000 ? true : nil
                }
                batch.reset()
                reader.close()
                log.close()
                print("\(places.count) partitions: \(most - before) kB for what waits")
                exit(most - before < 352 << 10 ? EXIT_SUCCESS : EXIT_FAILURE)
            }
        }

        @Test("fetches a partition anew that stands still although records wait")
        func standstill() throws {
            let cluster = try MockCluster()
            let lines = Mutex<[String]>([])
            let log = try cluster.open { settings in
                settings.stallTimeoutMilliseconds = 1_000
                settings.log = { line in lines.withLock { $0.append(line.message) } }
            }
            defer { log.close() }
            try log.append([.init(.session, 0, "a")])
            let place = TopicPartition(.session, 0)
            let made = try log.makeReader(from: [place: 0])
            let reader = try #require(made as? KafkaReader)
            defer { reader.close() }
            #expect(try reader.readToEnd() == ["a"])
            cluster.fail(
                .fetch,
                Array(repeating: RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, count: 100_000))
            try log.append([.init(.session, 0, "b")])
            let batch = LogBatch()
            _ = try eventually("a new fetch") { () -> Bool? in
                _ = try reader.poll(into: batch, waitMilliseconds: 50)
                #expect(batch.isEmpty)
                return reader.restarts > 0 ? true : nil
            }
            #expect(lines.withLock { $0.contains { $0.contains("session[0]: fetching anew") } })
            cluster.heal(.fetch)
            #expect(try reader.readToEnd() == ["b"])
        }

        @Test("reads on after each broker was lost in turn")
        func brokersLostInTurn() throws {
            let cluster = try MockCluster(brokers: 3)
            let log = try cluster.open { $0.stallTimeoutMilliseconds = 2_000 }
            defer { log.close() }
            let places = log.places(of: .session)
            let reader = try log.makeReader(
                from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
            defer { reader.close() }
            for broker in 1...3 {
                cluster.setDown(broker, true)
                for partition in 0..<4 {
                    cluster.moveLeader(.session, partition, to: broker % 3 + 1)
                }
                let values = places.map { "\(broker) \($0)" }
                _ = try eventually("appends without broker \(broker)") { () -> Bool? in
                    do {
                        try log.append(
                            zip(places, values).map { .init(.session, $0.partition, $1) })
                        return true
                    } catch {
                        return nil
                    }
                }
                let batch = LogBatch()
                var seen: Set<String> = []
                _ = try eventually("records without broker \(broker)") { () -> Bool? in
                    do {
                        _ = try reader.poll(into: batch, waitMilliseconds: 50)
                    } catch let fault as LogFault where fault.remedy == .retry {
                        // On a machine that is slow for so long; what was read stays read.
                        return nil
                    }
                    seen.formUnion(batch.values.compactMap { $0 })
                    return seen.isSuperset(of: values) ? true : nil
                }
                cluster.setDown(broker, false)
            }
        }

        @Test("finds the ends of partitions that have moved to another broker")
        func movedPartitions() throws {
            let cluster = try MockCluster(brokers: 3)
            let log = try cluster.open()
            defer { log.close() }
            let places = log.places(of: .session)
            for broker in [2, 3, 1, 2] {
                for place in places { cluster.moveLeader(.session, place.partition, to: broker) }
                for place in places { #expect(try log.bounds(of: place) == 0..<0) }
            }
            let reader = try log.makeReader(
                from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
            defer { reader.close() }
            for broker in [3, 1] {
                #expect(try reader.readToEnd() == [])
                for place in places { cluster.moveLeader(.session, place.partition, to: broker) }
            }
            #expect(try reader.readToEnd() == [])
        }

        @Test("commits in the end, whatever the brokers answer once")
        func answers() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            cluster.fail(.initProducer, [RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS])
            let worker = try log.makeWorker(lane: 0)
            defer { worker.close() }
            _ = try worker.nextChange()
            let answers: [(MockCluster.Request, rd_kafka_resp_err_t)] = [
                (.addOffsets, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING),
                (.addOffsets, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS),
                (.commitOffsets, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING),
                (.commitOffsets, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS),
                (.endTransaction, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING),
                (.endTransaction, RD_KAFKA_RESP_ERR_PRODUCER_FENCED),
                (.endTransaction, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE),
                (.endTransaction, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID),
                (.produce, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER),
            ]
            for (index, (request, code)) in answers.enumerated() {
                cluster.fail(request, [code])
                let ends = try worker.commitPatiently(
                    [.init(.epoch, 0, "\(index)")],
                    positions: [TopicPartition(.session, 0): Int64(index)]
                ) { print("given back after \(code) to \(request): \($0)") }
                #expect(Array(ends.keys) == [TopicPartition(.epoch, 0)])
                #expect(try log.readAll(.epoch, 0).last == "\(index)")
            }
        }

        @Test("says what is missing when a right is missing")
        func missingRights() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            let worker = try log.makeWorker(lane: 0)
            defer { worker.close() }
            _ = try worker.nextChange()
            let answers: [(MockCluster.Request, rd_kafka_resp_err_t)] = [
                (.commitOffsets, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED),
                (.addOffsets, RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
                (.produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
            ]
            for (request, code) in answers {
                cluster.fail(request, [code])
                let refused = try fault {
                    _ = try worker.commit(
                        [.init(.epoch, 0, "1")], positions: [TopicPartition(.session, 0): 0])
                }
                #expect(refused.remedy == .refused)
                #expect(refused.hint?.hasPrefix("grant this principal") == true)
            }
        }

        @Test("says which topic it may not append to, though the client only speaks of the cluster")
        func missingRightToAppend() throws {
            let cluster = try MockCluster()
            let log = try cluster.open()
            defer { log.close() }
            // What a broker answers to who may write to no topic at all.
            cluster.fail(.initProducer, [RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED])
            let refused = try fault { try log.append([.init(.control, 0, "a")]) }
            #expect(refused.operation == "append")
            #expect(refused.place.hasSuffix("control[0]"))
            #expect(refused.reason.contains("CLUSTER_AUTHORIZATION_FAILED"))
            #expect(refused.hint?.hasPrefix("grant this principal Write on the topic") == true)
            #expect(refused.remedy == .refused)
            // Once it has been granted.
            try log.append([.init(.control, 0, "b")])
            #expect(try log.readAll(.control, 0) == ["b"])
        }

        @Test("leaves lanes without partitions alone")
        func moreLanesThanPartitions() throws {
            let cluster = try MockCluster(partitions: 4)
            let log = try cluster.open()
            defer { log.close() }
            try log.append((0..<4).map { .init(.session, $0, "\($0)") })
            let workers = try (0..<8).map { try log.makeWorker(lane: $0) }
            defer { for worker in workers { worker.close() } }
            var owned = Array(repeating: [Int](), count: workers.count)
            _ = try eventually("four owners") { () -> Bool? in
                for (index, worker) in workers.enumerated() {
                    switch try worker.pollAssignment(waitMilliseconds: 20) {
                    case .assigned(let partitions): owned[index] = partitions
                    case .revoked: owned[index] = []
                    case nil: break
                    }
                }
                return owned.filter { !$0.isEmpty }.count == 4 ? true : nil
            }
            #expect(owned.flatMap { $0 }.sorted() == [0, 1, 2, 3])
            for (index, worker) in workers.enumerated() {
                guard let partition = owned[index].first else {
                    #expect(try worker.poll(into: LogBatch(), waitMilliseconds: 0).ended == [])
                    continue
                }
                // The idle ones hold nobody back: reading and committing goes on beside them.
                try worker.start(partition: partition, at: [:])
                #expect(try worker.read(1) == ["\(partition)"])
                _ = try worker.commit(
                    [.init(.epoch, partition, "1")],
                    positions: [TopicPartition(.session, partition): 1])
                #expect(try log.readAll(.epoch, partition) == ["1"])
            }
        }
    }
}
