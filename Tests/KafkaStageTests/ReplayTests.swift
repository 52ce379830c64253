// What a replay makes of a log on Kafka, whose partitions it reads at different speeds each time.
import Evaluate
import EventLog
import Foundation
import KafkaLog
import KafkaTestSupport
import Testing

extension KafkaStageTests {
    @Suite("A replay of a log on Kafka")
    struct ReplayTests {
        /// `ADBRAKE_SEEDS` in the environment asks for more.
        private static let schedules =
            ProcessInfo.processInfo.environment["ADBRAKE_SEEDS"].flatMap { UInt64($0) } ?? 12

        @Test("decides the same in whatever pieces and order records come", .needsKafka)
        func schedules() async throws {
            try await withKafka(partitions: 2) { log, _ in
                let world = KafkaWorld(log)
                let lane = world.makeLane()
                let apps = (0..<2).map { world.app(in: $0) }
                // Their minute is clean again at different times.
                for (number, app) in apps.enumerated() {
                    let ago = Int64(53_000 + 2_000 * number)
                    try world.start(app, 0..<10, ago: ago)
                    try world.crash(app, 0..<4, ago: ago)
                }
                var next = 10
                try world.run(lane, until: "changes of both") {
                    for app in apps { try world.start(app, next..<next + 3) }
                    next += 3
                    return try apps.allSatisfy { try world.story($0).last == "Normal" }
                }
                try world.run(lane, until: "all is counted") {
                    try world.isCounted(0) && world.isCounted(1)
                }
                try world.leave(lane)
                try world.check()
                let decisions = try world.decisions()
                for seed in 0..<Self.schedules {
                    var uneven = Unevenness(seed: seed)
                    uneven.heldShare = Double.random(in: 0..<0.8, using: &uneven.random)
                    uneven.pieceBytes = Int.random(in: 1...4_000, using: &uneven.random)
                    #expect(try world.replay(UnevenLog(log, uneven)) == decisions, "seed \(seed)")
                }
            }
        }
    }
}
