// Many clients and partitions at once, on librdkafka's mock cluster.
import CRdKafka
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Runtime
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("Many on Kafka")
    struct StormTests {
        @Test("workers commit on while their coordinators move, without beginning anew each time")
        func movingCoordinators() throws {
            let lanes = 16
            let cluster = try MockCluster(brokers: 3, partitions: lanes)
            let log = try cluster.open()
            defer { log.close() }
            let workers = try (0..<lanes).map { try log.makeWorker(lane: $0) as? KafkaWorker }
            defer { for worker in workers { worker?.close() } }
            var owned = Array(repeating: Set<Int>(), count: lanes)
            // Sixteen members make many rebalances, each as slow as the machine.
            _ = try eventually("a partition for each", seconds: 240) { () -> Bool? in
                for (index, worker) in workers.enumerated() {
                    switch try worker?.pollAssignment(waitMilliseconds: 5) {
                    case .assigned(let partitions): owned[index].formUnion(partitions)
                    case .revoked: owned[index] = []
                    case nil: break
                    }
                }
                return owned.allSatisfy { $0.count == 1 } ? true : nil
            }
            var retries = 0
            for move in 0..<20 {
                for (index, worker) in workers.enumerated() {
                    cluster.moveCoordinator(
                        .transaction, of: "\(cluster.settings.prefix)test-\(index)",
                        to: (move + index) % 3 + 1)
                    guard let worker, let partition = owned[index].first else { continue }
                    _ = try eventually("commit \(move) of lane \(index)") { () -> Bool? in
                        do {
                            _ = try worker.commit(
                                [.init(.epoch, partition, "\(move)")],
                                positions: [TopicPartition(.session, partition): Int64(move)])
                            return true
                        } catch let fault as LogFault where fault.remedy == .retry {
                            retries += 1
                            return nil
                        }
                    }
                }
            }
            let repairs = workers.reduce(0) { $0 + ($1?.repairs.producers ?? 0) }
            print("\(20 * lanes) commits, \(retries) given back, \(repairs) producers replaced")
            // Each move costs a producer at most, and mostly none.
            #expect(repairs <= 20 * lanes / 4)
            for partition in 0..<lanes {
                #expect(try log.readAll(.epoch, partition) == (0..<20).map { "\($0)" })
            }
        }
    }
}
