// The clock of a lane on Kafka: what holds it back, and what does not.
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
    @Suite("A lane's clock on Kafka")
    struct ClockTests {
        /// `ADBRAKE_STALL` in the environment asks for a longer one, in seconds.
        private static let stallMilliseconds =
            (ProcessInfo.processInfo.environment["ADBRAKE_STALL"].flatMap { Int64($0) } ?? 2)
            * 1_000

        /// Ends a test in which crashes were held back: they were decided on at the first tick
        /// after their append time, as if nothing had been, and nothing was late.
        private func leave(_ lane: EvaluatorLane, _ world: KafkaWorld) throws {
            let records = try world.records(TopicPartition(.crash, 0))
            let append = try #require(records.first?.append)
            func brake() throws -> ThrottleRecord? {
                try world.throttle(0).first { $0.change.state != .normal }
            }
            try world.run(lane, until: "a brake") { try brake() != nil }
            let first = try #require(try brake())
            #expect(first.change.since == append / 500 * 500 + 500)
            for kind in ["straggler", "expired"] {
                let series = #"adbrake_evaluate_corrections_total{kind="\#(kind)"}"#
                #expect(world.metric(series) == 0)
            }
            try world.leave(lane)
            try world.check()
        }

        @Test("is not held back by an input in which nothing is", .needsKafka)
        func silentInput() async throws {
            try await withKafka(partitions: 1) { log, _ in
                let world = KafkaWorld(log)
                let lane = world.makeLane()
                try world.start("other", 0..<1)
                try world.run(lane, until: "a first epoch") { try !world.epochs(0).isEmpty }
                // Crashes of half a minute ago, counted within their minute on a busy machine, too,
                // and then none: sessions alone move the rates.
                try world.start("app", 0..<10, ago: 35_000)
                try world.crash("app", 0..<3, ago: 35_000)
                var number = 10
                _ = try eventually("Normal by sessions alone", seconds: 150) { () -> Bool? in
                    try world.step(lane)
                    try world.start("app", number..<number + 1)
                    number += 1
                    let isSo =
                        try world.story("app").suffix(3) == ["Throttle", "Caution", "Normal"]
                    return isSo ? true : nil
                }
                try world.run(lane, until: "all is counted") { try world.isCounted(0) }
                try world.leave(lane)
                let series = #"adbrake_evaluate_events_total{partition="0"}"#
                #expect(world.metric(series) == Double(number + 4))
                try world.check()
            }
        }

        /// What waits behind an open transaction is there, but cannot be had.
        @Test("waits for an input that lags, and drops nothing of it", .needsKafka)
        func laggingInput() async throws {
            try await withKafka(partitions: 1) { log, settings in
                let world = KafkaWorld(log)
                let lane = world.makeLane()
                try world.start("app", 0..<10)
                let value =
                    "[" + (0..<3).map { world.crash("app", $0) }.joined(separator: ",") + "]"
                let crashes = world.record(.crash, app: "app", bytes: Array(value.utf8))
                try world.run(lane, until: "a first epoch") { try !world.epochs(0).isEmpty }
                let held = try ForeignTransaction(settings, writing: [crashes])
                let begun = LogClock.wall.now()
                var number = 0
                while LogClock.wall.now() - begun < Self.stallMilliseconds {
                    // Of another app: those of this one shall not outweigh its crashes.
                    try world.start("other", number..<number + 1)
                    number += 1
                    try world.step(lane)
                }
                let last = try #require(try world.epochs(0).last)
                #expect(last.clock <= begun, "the clock has not passed what waits")
                try held.commit()
                try world.run(lane, until: "all is counted") { try world.isCounted(0) }
                try world.run(lane, until: "a decision") { try !world.throttle(0).isEmpty }
                try leave(lane, world)
            }
        }

        /// The lane itself stands still, with input waiting: wall time goes on without it.
        @Test("does not run on while its lane stands still", .needsKafka)
        func stalledLane() async throws {
            try await withKafka(partitions: 1) { log, _ in
                let world = KafkaWorld(log)
                let lane = world.makeLane()
                try world.run(lane, until: "a first epoch") { try !world.epochs(0).isEmpty }
                let before = try #require(try world.epochs(0).last)
                let end = LogClock.wall.now() + Self.stallMilliseconds
                let pause = StopSignal()
                var number = 0
                while LogClock.wall.now() < end {
                    try world.start("other", number..<number + 10)
                    if number == 0 {
                        try world.start("app", 0..<10)
                        try world.crash("app", 0..<3)
                    }
                    number += 10
                    pause.wait(milliseconds: 100)
                }
                #expect(try world.epochs(0).last == before)
                try world.run(lane, until: "all is counted") { try world.isCounted(0) }
                try leave(lane, world)
            }
        }

        @Test("says Normal at the exact tick after everything has fallen silent, once")
        func silence() throws {
            let cluster = try MockCluster(partitions: 1)
            let log = try cluster.open()
            defer { log.close() }
            let world = KafkaWorld(log)
            let lane = world.makeLane()
            let at = LogClock.wall.now() - 52_000
            try world.start("app", 0..<10, ago: 52_000)
            try world.crash("app", 0..<3, ago: 52_000)
            try world.run(lane, until: "Normal") {
                try world.story("app").suffix(3) == ["Throttle", "Caution", "Normal"]
            }
            try world.run(lane, milliseconds: 2_000)
            let changes = try world.throttle(0).map(\.change).suffix(3).map { $0 }
            #expect(changes.map(\.state) == [.throttle, .caution, .normal])
            // The minute is clean a minute after the second of the crashes, and the counting of
            // calm ticks begins there: a second of them for each level.
            let clean = (at / 1_000 + 60) * 1_000
            #expect((clean + 1_000...clean + 2_500).contains(changes[1].since))
            #expect(changes[2].since - changes[1].since == 1_500)
            try world.check()
        }
    }
}
