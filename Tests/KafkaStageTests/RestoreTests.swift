// What a lane on Kafka makes of the log that it finds when it begins.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import KafkaLog
import KafkaTestSupport
import LogTestSupport
import Runtime
import Serve
import Testing

extension KafkaStageTests {
    @Suite("A lane's restore on Kafka")
    struct RestoreTests {
        /// An app that has been throttled, with snapshots all along if there shall be any.
        private func throttled(_ log: KafkaLog, hasSnapshots: Bool = true) throws -> KafkaWorld {
            let world = KafkaWorld(log)
            if !hasSnapshots { world.settings.snapshotMilliseconds = 100_000_000 }
            let lane = world.makeLane()
            try world.start("app", 0..<10)
            try world.crash("app", 0..<3)
            try world.run(lane, until: "a throttle") {
                try world.story("app").last == "Throttle"
            }
            var number = 10
            try world.run(lane, until: "epochs") {
                try world.start("app", number..<number + 1)
                number += 1
                let last = try world.epochs(0).last
                return (last?.number ?? 0) > 12
                    && (last?.snapshots.count ?? 0) >= (hasSnapshots ? 2 : 1)
            }
            lane.close()
            return world
        }

        @Test("waits for what an open transaction holds back, and then has it", .needsKafka)
        func openTransaction() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = KafkaWorld(log)
                let first = world.makeLane()
                try world.start("app", 0..<10)
                try world.run(first, until: "an epoch") { try !world.epochs(0).isEmpty }
                let never = OutgoingRecord(.epoch, partition: 0, key: nil, value: [])
                let foreign = try ForeignTransaction(settings, writing: [never])
                // Commits that nobody can read yet.
                try world.crash("app", 0..<3)
                let end = try log.bounds(of: TopicPartition(.epoch, 0)).upperBound
                try world.run(first, until: "a commit") {
                    try log.bounds(of: TopicPartition(.epoch, 0)).upperBound > end
                }
                first.close()
                let second = KafkaWorld(log)
                let (wasEarly, told) = (Monitor(false), second.told)
                _ = WorkerThread(name: "foreign") {
                    StopSignal().wait(milliseconds: 1_500)
                    wasEarly.withLock { $0 = told.line("partitions restored") != nil }
                    try? foreign.abort()
                }
                let lane = second.makeLane()
                try second.run(lane, until: "what the first has counted is decided") {
                    try second.story("app").last == "Throttle"
                }
                #expect(!wasEarly.read { $0 })
                try second.leave(lane)
                try second.check()
            }
        }

        @Test("and an edge's start are well where everything has been deleted", .needsKafka)
        func emptied() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = KafkaWorld(log)
                for type in EventType.allCases {
                    try world.append(type, app: "old", bytes: [])
                    try KafkaAdministrator(settings).deleteRecords(
                        TopicPartition(Topic(type), 0), before: nil)
                    #expect(try log.bounds(of: TopicPartition(Topic(type), 0)) == 1..<1)
                }
                let edge = Edge(
                    log: log, settings: ServeSettings(),
                    logger: Logger(part: "serve", to: CapturedLog()), metrics: Metrics())
                let follower = edge.makeFollower()
                _ = try eventually("a ready edge") { () -> Bool? in
                    try follower.step()
                    return edge.table.image.isReady ? true : nil
                }
                let lane = world.makeLane()
                try world.run(lane, until: "an epoch") { try !world.epochs(0).isEmpty }
                #expect(try world.throttle(0).isEmpty)
                try world.start("app", 0..<10)
                try world.run(lane, until: "a state") { try world.story("app") == ["Normal"] }
                let app = try #require(AppID("app"))
                _ = try eventually("the state at the edge") { () -> Bool? in
                    try follower.step()
                    let served = ServedState(
                        of: app, in: edge.table.image, now: LogClock.wall.now(),
                        settings: ServeSettings())
                    return served.revision == 1 ? true : nil
                }
                try world.leave(lane)
            }
        }

        @Test(
            "stops where inputs are gone that it would have to count, and says which", .needsKafka)
        func deletedAhead() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = try throttled(log, hasSnapshots: false)
                let end = try log.bounds(of: TopicPartition(.session, 0)).upperBound
                try KafkaAdministrator(settings).deleteRecords(
                    TopicPartition(.session, 0), before: end - 1)
                let epochs = try world.epochs(0).count
                let next = world.makeLane()
                let refusal = try fault { try world.run(next, milliseconds: 60_000) }
                #expect(refusal.remedy == .stop)
                #expect(refusal.reason.contains("is no longer there, the first is \(end - 1)"))
                #expect(refusal.place.hasSuffix("\(settings.prefix)session[0]"))
                next.close()
                #expect(try world.epochs(0).count == epochs)
            }
        }

        /// A committed position that lies before what is there, with nothing left to count to it.
        @Test("stops at a committed position below the first record, and never skips", .needsKafka)
        func committedBelow() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = try throttled(log)
                try world.start("app", 1_000..<1_010)
                try world.start("app", 1_010..<1_020)
                let end = try log.bounds(of: TopicPartition(.session, 0)).upperBound
                try KafkaAdministrator(settings).deleteRecords(
                    TopicPartition(.session, 0), before: end - 1)
                let next = world.makeLane()
                let refusal = try fault { try world.run(next, milliseconds: 60_000) }
                #expect(refusal.remedy == .stop)
                #expect(refusal.reason.contains("is no longer there, the first is \(end - 1)"))
                next.close()
            }
        }

        /// Changed before Kafka took its own checksum: of a batch that is damaged itself librdkafka
        /// 2.0.2 aborts the process now and then.
        @Test(
            "falls back to an older snapshot when a byte of the newest has changed", .needsKafka)
        func changedByte() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = try throttled(log)
                let newest = try #require(try world.epochs(0).last?.snapshots.first)
                let place = TopicPartition(.snapshot, 0)
                try SegmentFile(of: place, settings).rewrite(
                    "app", as: "apq", after: newest.offset)
                let next = world.makeLane()
                try world.run(next, until: "all is counted") { try world.isCounted(0) }
                try world.start("app", 5_000..<5_010)
                try world.run(next, until: "all is counted again") { try world.isCounted(0) }
                let line = try #require(world.told.line("falling back to an older snapshot"))
                #expect(line.metadata["epoch"] == LogValue(newest.epoch))
                try world.leave(next)
                try world.check()
            }
        }

        /// As after an election of a broker that did not have everything.
        @Test("holds the partition when other records lie where it has counted", .needsKafka)
        func rewrittenTail() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = KafkaWorld(log)
                world.settings.snapshotMilliseconds = 100_000_000
                let lane = world.makeLane()
                try world.run(lane, until: "a snapshot") {
                    try world.epochs(0).last?.snapshots.isEmpty == false
                }
                let value = "[" + (0..<10).map { world.session("app", $0) }.joined(separator: ",")
                try KafkaAdministrator(settings).write([
                    world.record(.session, app: "app", bytes: Array((value + "]").utf8))
                ])
                try world.run(lane, until: "all is counted") { try world.isCounted(0) }
                lane.close()
                try SegmentFile(of: TopicPartition(.session, 0), settings).rewrite(
                    #""session":"s7""#, as: #""session":"s1""#)
                let epochs = try world.epochs(0).count
                let next = world.makeLane()
                let refusal = try fault { try world.run(next, milliseconds: 60_000) }
                #expect(refusal.remedy == .stop)
                #expect(refusal.reason.hasSuffix("has another checksum"))
                #expect(refusal.place.hasPrefix("partition 0 of "))
                next.close()
                #expect(try world.epochs(0).count == epochs)
            }
        }
    }
}
