// Edges on Kafka.
import BrakeModel
import EventLog
import KafkaLog
import KafkaTestSupport
import Runtime
import Serve
import Testing

extension KafkaStageTests {
    @Suite("An edge on Kafka")
    struct EdgeTests {
        @Test("becomes ready although writing never ceases")
        func constantWrites() throws {
            let cluster = try MockCluster(partitions: 2)
            let log = try cluster.open()
            defer { log.close() }
            let stop = StopSignal()
            let written = Monitor(0)
            let writer = WorkerThread(name: "writer") {
                while !stop.isRequested {
                    try? log.append([
                        OutgoingRecord(
                            .throttle, partition: 0, key: Array("app".utf8), value: nil)
                    ])
                    written.withLock { $0 += 1 }
                }
            }
            defer {
                stop.request(reason: "the test ends")
                writer.join()
            }
            _ = written.wait(milliseconds: 60_000) { $0 > 20 ? true : nil }
            let edge = Edge(
                log: log, settings: ServeSettings(),
                logger: Logger(part: "serve", to: CapturedLog()), metrics: Metrics())
            let follower = edge.makeFollower()
            let before = written.read { $0 }
            _ = try eventually("a ready edge") { () -> Bool? in
                try follower.step()
                return edge.table.image.isReady ? true : nil
            }
            let hasGoneOn = written.wait(milliseconds: 60_000) { $0 > before ? true : nil }
            #expect(hasGoneOn == true, "writing has gone on")
        }
    }
}
