// Edges on Kafka.
import BrakeModel
import BrakeWire
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

        /// An edge that is stepped by hand.
        private struct Stepped {
            let edge: Edge
            let follower: TableFollower
            let metrics = Metrics()

            init(_ log: any EventLog) {
                edge = Edge(
                    log: log, settings: ServeSettings(),
                    logger: Logger(part: "serve", to: CapturedLog()), metrics: metrics)
                follower = edge.makeFollower()
            }

            /// The state served of an app, and its cause.
            func served(_ app: AppID) -> String {
                let served = ServedState(
                    of: app, in: edge.table.image, now: LogClock.wall.now(),
                    settings: ServeSettings())
                return "\(served.state.name) \(served.cause) \(served.revision)"
            }

            func waits(for what: String, _ isSo: () -> Bool) throws {
                _ = try eventually(what) { () -> Bool? in
                    try follower.step()
                    return isSo() ? true : nil
                }
            }

            func becomesReady() throws {
                try waits(for: "a ready edge") { edge.table.image.isReady }
            }

            func metric(_ series: String) -> Bool {
                metrics.rendered().split(separator: "\n").contains(Substring(series))
            }
        }

        private func state(
            _ app: AppID, _ state: ThrottleState, revision: Int64, epoch: Int64
        ) -> OutgoingRecord {
            let change = ThrottleChange(
                app: app, state: state, since: 1_700_000_000_000, revision: revision,
                policy: "default", cause: .rule,
                why: Why(clock: 1_700_000_000_000, rule: "burst", windows: []))
            let record = ThrottleRecord(change: change, partition: 0, epoch: epoch)
            return OutgoingRecord(
                .throttle, partition: 0, key: Array(app.text.utf8), value: record.encode())
        }

        private func epoch(_ number: Int64, generation: Int64) -> OutgoingRecord {
            let record = EpochRecord(
                number: number, generation: generation, partition: 0, clock: 1_700_000_000_000,
                offsets: EpochRecord.Offsets(), policies: [], changes: 0, checksum: 0,
                snapshots: [], throttleEnd: 0)
            return OutgoingRecord(.epoch, partition: 0, key: nil, value: record.encode())
        }

        @Test(
            "is ready on a compacted table with gaps, a deletion and a marker at its end",
            .needsKafka)
        func compacted() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let (kept, gone) = (try #require(AppID("kept")), try #require(AppID("gone")))
                try KafkaAdministrator(settings).alter(
                    .throttle, partitions: 1,
                    [
                        "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
                        "max.compaction.lag.ms": "100",
                    ])
                let running = Stepped(log)
                try log.append((1...40).map { state(kept, .halt, revision: $0, epoch: $0) })
                try log.append([state(gone, .halt, revision: 1, epoch: 41)])
                try running.waits(for: "the state") { running.served(gone) == "Halt rule 1" }
                let place = TopicPartition(.throttle, 0)
                let deletion = OutgoingRecord(
                    .throttle, partition: 0, key: Array("gone".utf8), value: nil)
                var first: Int64 = 0
                _ = try eventually("compaction") { () -> Bool? in
                    try log.append([deletion])
                    let scan = try LogScan(log, from: [place: 0])
                    defer { scan.close() }
                    first = 0
                    while try first == 0 && scan.next({ first = $0.first?.offset ?? 0 }) {}
                    return first > 0 ? true : nil
                }
                let foreign = try ForeignTransaction(settings, writing: [deletion])
                try foreign.abort()
                try running.waits(for: "the default") {
                    running.served(gone) == "Caution unknown_app 0"
                }
                let started = Stepped(log)
                try started.becomesReady()
                #expect(started.served(gone) == "Caution unknown_app 0")
                #expect(started.served(kept) == "Halt rule 40")
                #expect(running.served(kept) == "Halt rule 40")
            }
        }

        @Test(
            "begins anew when what it had not read yet has been deleted, and never skips",
            .needsKafka)
        func deletedAhead() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let app = try #require(AppID("app"))
                // Nothing can be deleted from a topic that is only compacted.
                try KafkaAdministrator(settings).alter(
                    .throttle, partitions: 1, ["cleanup.policy": "compact,delete"])
                try log.append([state(app, .normal, revision: 1, epoch: 1)])
                let edge = Stepped(log)
                try edge.becomesReady()
                try log.append((2...9).map { state(app, .throttle, revision: $0, epoch: $0) })
                try log.append([state(app, .halt, revision: 10, epoch: 10)])
                let place = TopicPartition(.throttle, 0)
                let last = try log.bounds(of: place).upperBound - 1
                // The broker may not have heard of the change yet.
                _ = try eventually("the deletion") { () -> Bool? in
                    try? KafkaAdministrator(settings).deleteRecords(place, before: last)
                    return try log.bounds(of: place).lowerBound == last ? true : nil
                }
                _ = try eventually("the last state") { () -> Bool? in
                    // The fault ends its session; the next step begins another.
                    try? edge.follower.step()
                    return edge.served(app) == "Halt rule 10" ? true : nil
                }
                #expect(edge.edge.table.image.isReady)
            }
        }

        @Test("minds neither an older state nor an older epoch of a zombie", .needsKafka)
        func zombie() async throws {
            try await withKafka(partitions: 1) { log, _ in
                let app = try #require(AppID("app"))
                try log.append([
                    state(app, .halt, revision: 7, epoch: 42), epoch(42, generation: 3),
                ])
                let edge = Stepped(log)
                try edge.becomesReady()
                try log.append([
                    state(app, .normal, revision: 6, epoch: 41), epoch(41, generation: 2),
                ])
                try edge.waits(for: "both are metered") {
                    edge.metric(#"adbrake_serve_older_total{topic="throttle"} 1"#)
                        && edge.metric(#"adbrake_serve_older_total{topic="epoch"} 1"#)
                }
                #expect(edge.served(app) == "Halt rule 7")
            }
        }
    }
}
