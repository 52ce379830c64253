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
        private let lanes = 16
        private let moves = 20

        /// What the lanes tell each other.
        private struct Group {
            var owned: [Set<Int>]
            var results: [Result<Tally, any Error>] = []
        }

        private struct Tally {
            var retries = 0
            var repairs = 0
        }

        @Test("workers commit on while their coordinators move, without beginning anew each time")
        func movingCoordinators() throws {
            let cluster = try MockCluster(brokers: 3, partitions: lanes)
            let log = try cluster.open()
            defer { log.close() }
            let group = Monitor(Group(owned: Array(repeating: [], count: lanes)))
            let threads = (0..<lanes).map { lane in
                WorkerThread(name: "lane \(lane)") {
                    commit(as: lane, of: group, to: log, in: cluster)
                }
            }
            for thread in threads { thread.join() }
            let tallies = try group.read { $0.results }.map { try $0.get() }
            let retries = tallies.reduce(0) { $0 + $1.retries }
            let repairs = tallies.reduce(0) { $0 + $1.repairs }
            print("\(moves * lanes) commits, \(retries) given back, \(repairs) producers replaced")
            // Each move costs a producer at most, and mostly none.
            #expect(repairs <= moves * lanes / 4)
            for partition in 0..<lanes {
                #expect(try log.readAll(.epoch, partition) == (0..<moves).map { "\($0)" })
            }
        }

        /// The thread of a lane, which leaves the group when all others are done as well.
        private func commit(
            as lane: Int, of group: Monitor<Group>, to log: KafkaLog, in cluster: MockCluster
        ) {
            var worker: KafkaWorker?
            defer { worker?.close() }
            let result = Result {
                let made = try #require(try log.makeWorker(lane: lane) as? KafkaWorker)
                worker = made
                let partition = try waitForPartition(made, lane, group)
                let retries = try commitWhileMoving(made, partition, lane, cluster)
                return Tally(retries: retries, repairs: made.repairs.producers)
            }
            group.withLock { $0.results.append(result) }
            _ = group.wait(milliseconds: 480_000) { $0.results.count == lanes ? true : nil }
        }

        /// Sixteen members make many rebalances, each as slow as the machine.
        private func waitForPartition(
            _ worker: KafkaWorker, _ lane: Int, _ group: Monitor<Group>
        ) throws -> Int {
            try eventually("a partition for each", seconds: 240) { () -> Int? in
                switch try worker.pollAssignment(waitMilliseconds: 5) {
                case .assigned(let partitions):
                    group.withLock { $0.owned[lane].formUnion(partitions) }
                case .revoked: group.withLock { $0.owned[lane] = [] }
                case nil: break
                }
                return group.read { group in
                    group.owned.allSatisfy { $0.count == 1 } ? group.owned[lane].first : nil
                }
            }
        }

        /// Commits once after each move of the lane's coordinator, which holds it up for half
        /// a second. Returns how many commits were given back.
        private func commitWhileMoving(
            _ worker: KafkaWorker, _ partition: Int, _ lane: Int, _ cluster: MockCluster
        ) throws -> Int {
            var retries = 0
            for move in 0..<moves {
                cluster.moveCoordinator(
                    .transaction, of: "\(cluster.settings.prefix)test-\(lane)",
                    to: (move + lane) % 3 + 1)
                try worker.commitPatiently(
                    [.init(.epoch, partition, "\(move)")],
                    positions: [TopicPartition(.session, partition): Int64(move)]
                ) { _ in retries += 1 }
            }
            return retries
        }
    }
}
