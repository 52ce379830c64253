// Records that turn up after the clock has passed them: another process was slow to commit them.
import EventLog
import Runtime
import Simulation
import Testing

@Suite("Stragglers")
struct StragglerTests {
    /// The epoch before ends where the clock stood when they came, although nothing but the clock
    /// had moved: a replay, which sorts an epoch by append time, would decide before that.
    @Test("that come while a partition is idle are counted where a replay counts them")
    func whileIdle() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.run(lane, for: 10_000)
        let before = try world.epochs().count
        // Just after a heartbeat, so that no other one comes before the records do.
        while try world.epochs().count == before { try world.run(lane, for: 100) }
        world.log.steer { $0.hidden = [TopicPartition(.crash, 0)] }
        try world.crash("app", 0..<3)
        try world.run(lane, for: 1_800)
        #expect(try world.throttle().count == 1)
        world.log.steer { $0.hidden = [] }
        try world.run(lane, for: 3_000)
        #expect(try world.throttle().count == 2)
        #expect(world.metrics.rendered().contains(#"kind="straggler"} 3"#))
        try world.checkReplay()
    }
}
