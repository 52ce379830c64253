// Partitions that change hands between lanes on Kafka, and replays of what came of it.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Foundation
import KafkaLog
import KafkaTestSupport
import Runtime
import Testing

extension KafkaStageTests {
    @Suite("Lanes on Kafka")
    struct HandoverTests {
        private static let environment = ProcessInfo.processInfo.environment
        private static let soon = [
            "session.timeout.ms": "1500", "heartbeat.interval.ms": "300",
            "transaction.timeout.ms": "1500",
        ]

        /// Every hand-over falls into an epoch that has something in it.
        @Test(
            "count every event once while a partition goes from one to another and back",
            .needsKafka)
        func bounce() async throws {
            try await withKafka(partitions: 2) {
                $0.properties = Self.soon
            } _: { log, _ in
                let world = KafkaWorld(log)
                world.settings.epochMilliseconds = 5_000
                let first = world.makeLane(0)
                let apps = (0..<2).map { world.app(in: $0) }
                var number = 0
                func feed() throws {
                    for app in apps {
                        try world.start(app, number..<number + 10)
                        try world.crash(app, number..<number + 2)
                    }
                    number += 10
                }
                try world.run(first, until: "epochs") {
                    try feed()
                    return try (0..<2).allSatisfy { try !world.epochs($0).isEmpty }
                }
                for _ in 0..<2 {
                    let generations = try (0..<2).map { try world.epochs($0).last?.generation ?? 0 }
                    let second = world.makeLane(1)
                    try world.run(first, second, until: "a share for the second") {
                        try feed()
                        return try (0..<2).allSatisfy {
                            try world.epochs($0).last?.generation ?? 0 > generations[$0]
                        }
                    }
                    // It goes at once, in the midst of an epoch.
                    try feed()
                    try world.leave(second)
                    try world.run(first, until: "all partitions again") {
                        try feed()
                        return try (0..<2).allSatisfy { partition in
                            let last = try world.epochs(partition).last
                            return last?.generation ?? 0 > generations[partition] + 1
                        }
                    }
                }
                try world.run(first, until: "all is counted") {
                    try (0..<2).allSatisfy { try world.isCounted($0) }
                }
                try world.leave(first)
                let counted = world.metrics.rendered().split(separator: "\n").filter {
                    $0.hasPrefix("adbrake_evaluate_events_total{")
                }
                let sum = counted.compactMap {
                    $0.split(separator: " ").last.flatMap { Double($0) }
                }
                // What a lane counted but could not commit another one has counted again.
                #expect(sum.reduce(0, +) >= Double(number * 2 + number / 10 * 4))
                try world.check()
            }
        }

        /// Decodes as much as may wait, twice: for whoever has the time.
        @Test(
            "hold no more than may wait, before and after a partition has moved", .needsKafka,
            .enabled(if: environment["ADBRAKE_HEAVY"] != nil, "ADBRAKE_HEAVY asks for it"))
        func backPressure() async throws {
            try await withKafka(partitions: 1) {
                $0.properties = Self.soon
            } _: { log, _ in
                let world = KafkaWorld(log)
                let uneven = UnevenLog(log)
                uneven.change { uneven in
                    uneven.stalled = [TopicPartition(.crash, 0)]
                    uneven.pieceBytes = 200_000
                }
                let events = (0..<1_000).map {
                    #"{"type":"session","app":"app","session":"s\#($0)"}"#
                }
                for _ in 0..<90 { try world.append(.session, app: "app", events) }
                // What one poll brings on top of what may wait.
                let most = 1 << 16 + 4_000
                let first = world.makeLane(0, on: uneven)
                try world.run(first, until: "as much as may wait") {
                    first.eventsWaiting >= 1 << 16
                }
                for _ in 0..<20 { try world.step(first) }
                #expect(first.eventsWaiting <= most)
                // Another lane of the same name takes its place.
                first.close()
                let second = world.makeLane(0, on: uneven)
                try world.run(second, until: "as much again") {
                    second.eventsWaiting >= 1 << 16
                }
                for _ in 0..<20 { try world.step(second) }
                #expect(second.eventsWaiting <= most)
                uneven.change { $0.stalled = [] }
                try world.run(second, until: "all is counted") { try world.isCounted(0) }
                #expect(second.eventsWaiting == 0)
                try world.check()
            }
        }

        @Test("decide for other partitions while one app floods its own, which can be seen")
        func hotPartition() throws {
            let cluster = try MockCluster(partitions: 2)
            let log = try cluster.open()
            defer { log.close() }
            let world = KafkaWorld(log)
            // A lane so slow that the flood is ahead of it all the time.
            let uneven = UnevenLog(log)
            uneven.change { $0.pieceBytes = 10_000 }
            let (cold, hot) = (world.app(in: 0), world.app(in: 1))
            let lane = world.makeLane(0, on: uneven)
            try world.run(lane, until: "epochs") {
                try (0..<2).allSatisfy { try !world.epochs($0).isEmpty }
            }
            for number in 0..<900 { try world.start(hot, number * 10..<number * 10 + 10) }
            try world.start(cold, 0..<10)
            try world.crash(cold, 0..<3)
            try world.run(lane, until: "a decision for the cold one") {
                try world.story(cold).last == "Throttle"
            }
            let read = try #require(try world.epochs(1).last).offsets.session
            #expect(read < 900, "the hot one is still behind")
            func age(_ partition: Int) -> Double {
                world.metric(
                    #"adbrake_evaluate_clock_age_seconds{partition="\#(partition)"}"#)
            }
            try world.run(lane, until: "a commit of each") { age(0) > 0 && age(1) > 0 }
            #expect(age(1) > age(0))
            try world.run(lane, until: "all is counted") { try world.isCounted(1) }
            try world.check()
        }

        @Test("set poison aside once, and go on")
        func poison() throws {
            let cluster = try MockCluster(partitions: 1)
            let log = try cluster.open()
            defer { log.close() }
            let world = KafkaWorld(log)
            let lane = world.makeLane()
            let good = #"{"type":"crash","app":"app","id":"1"}"#
            let large =
                good.dropLast() + #","x":""# + String(repeating: "x", count: 900_000) + #""}"#
            let values: [[UInt8]?] = [
                [0, 1, 2, 0xff, 0x7b], [], nil, Array(large.utf8),
                Array(#"{"type":"crash","app":""#.utf8) + [0xc3, 0x28] + Array(#""}"#.utf8),
            ]
            try world.start("app", 0..<10)
            for value in values { try world.append(.crash, app: "app", bytes: value) }
            try log.append([
                OutgoingRecord(.crash, partition: 0, key: nil, value: Array(good.utf8))
            ])
            try world.crash("app", 0..<3)
            try world.run(lane, until: "a throttle") {
                try world.story("app").last == "Throttle"
            }
            let dead = try world.records(TopicPartition(.dead, 0)).map {
                String(decoding: $0.value, as: UTF8.self)
            }
            #expect(dead.count == values.count + 1)
            for (offset, reason) in [
                "bad_json", "empty", "empty", "too_large", "bad_json", "wrong_app",
            ].enumerated() {
                #expect(
                    dead.count {
                        $0.contains(#""offset":\#(offset),"#)
                            && $0.contains(#""reason":"\#(reason)""#)
                    } == 1, "\(reason) at \(offset)")
            }
            try world.check()
        }

        /// `ADBRAKE_SEEDS` in the environment asks for more.
        private static let seeds =
            environment["ADBRAKE_SEEDS"].flatMap { UInt64($0) } ?? 10

        @Test(
            "are repeated by a replay, in whatever pieces and order its records come", .needsKafka)
        func fetchSchedules() async throws {
            try await withKafka(partitions: 2) { log, _ in
                let world = KafkaWorld(log)
                let lane = world.makeLane()
                let apps = (0..<4).map { "app-\($0)" }
                for number in 0..<60 {
                    let app = apps[number % 4]
                    let ago = Int64(number * 900)
                    try world.start(app, number * 10..<number * 10 + 10, ago: ago)
                    if number % 5 < 2 {
                        try world.crash(app, number * 10..<number * 10 + 4, ago: ago)
                    }
                    try world.step(lane, waitMilliseconds: 0)
                }
                try world.run(lane, until: "all is counted") {
                    try (0..<2).allSatisfy { try world.isCounted($0) }
                }
                try world.leave(lane)
                try world.check()
                // By append time, at far more ticks than there were; and by epochs.
                var policy = Policy.quick
                policy.name = "fine"
                policy.tickMilliseconds = 20
                for policy in [policy, .quick] {
                    var expected: [UInt8]?
                    for seed in 0..<Self.seeds {
                        let uneven = UnevenLog(log, Unevenness(seed: seed))
                        if seed > 0 {
                            uneven.change { uneven in
                                uneven.heldShare = 0.5
                                uneven.pieceBytes = Int.random(
                                    in: 200...6_000, using: &uneven.random)
                            }
                        }
                        let replay = LogReplay(
                            log: uneven, policy: policy, limits: world.settings.limits)
                        let output = try replay.run().output
                        #expect(output.count > 1_000)
                        #expect(output == expected ?? output, "seed \(seed) of \(policy.name)")
                        expected = output
                    }
                }
            }
        }
    }
}
