// Records that turn up after the clock has passed them: counted at once, seen from the next tick
// on, and counted in the same place when the log is replayed.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Simulation
import Testing

@Suite("A lane's stragglers")
struct StragglerTests {
    @Test("are counted at once and seen from the next tick on")
    func nextTick() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        world.log.steer { $0.hidden = [TopicPartition(.crash, 0)] }
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 5_200)
        #expect(try world.story("app") == ["1 Normal 1"])
        world.log.steer { $0.hidden = [] }
        try world.run(lane, for: 2_000)
        // The clock stood at 4.7 s, half a second behind the wall clock.
        #expect(try world.story("app") == ["1 Normal 1", "2 Throttle 5"])
        let rendered = world.metrics.rendered()
        #expect(rendered.contains(#"adbrake_evaluate_corrections_total{kind="straggler"} 3"#))
        try world.checkReplay()
    }

    /// While the epoch before them is counted again, they are there already, earlier than what it
    /// has read.
    @Test("do not hold back a restore")
    func restore() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 100..<110)
        try world.crash("app", 100..<101)
        try world.run(lane, for: 1_000)
        world.log.steer { $0.hidden = [TopicPartition(.crash, 0)] }
        try world.crash("app", 0..<5)
        for second in 0..<5 {
            try world.start("app", second * 2..<second * 2 + 2)
            try world.run(lane, for: 1_000)
        }
        world.log.steer { $0.hidden = [] }
        try world.run(lane, for: 2_000)
        world.memory.deleteRecords(of: TopicPartition(.snapshot, 0), before: 1_000)
        let next = world.makeLane()
        try world.run(next, for: 100_000)
        #expect(
            try world.story("app").map { $0.split(separator: " ")[1] }
                == ["Normal", "Throttle", "Caution", "Normal"])
        try world.checkReplay()
    }

    /// A lane that is behind passes many ticks in one epoch; a straggler in the midst of it would
    /// be sorted before them by a replay.
    @Test("end the open epoch before them")
    func cut() throws {
        let world = LaneWorld()
        world.settings.epochMilliseconds = 1_000_000
        world.settings.heartbeatMilliseconds = 1_000_000
        world.log.steer { steering in
            steering.hidden = [TopicPartition(.crash, 0)]
            steering.pieceBytes = 2_000
        }
        try world.crash("app", 0..<20)
        for second in 0..<40 {
            try world.start("app", second * 3..<second * 3 + 3)
            world.time.pass(1_000)
        }
        let lane = world.makeLane()
        for _ in 0..<4 { try lane.step(waitMilliseconds: 0) }
        #expect(try world.epochs().isEmpty)
        world.log.steer { $0.hidden = [] }
        try world.settle(lane, steps: 4)
        let before = try #require(try world.epochs().first)
        #expect(before.offsets.crash == 0)
        #expect(before.clock >= LaneWorld.beginning + 5_000)
        world.log.steer { $0.pieceBytes = 100_000 }
        try world.run(lane, for: 5_000)
        #expect(try world.story("app").first == "1 Normal 1")
        #expect(try world.story("app").dropFirst().first?.hasPrefix("2 Throttle") ?? false)
        try world.checkReplay()
    }

    /// Of records of one millisecond a replay takes those of the first topic first, so this order
    /// must have been kept when they were counted: a crash before its session's start is counted
    /// otherwise than one after it.
    @Test("of the same millisecond keep their place, too")
    func sameMillisecond() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        world.log.steer { $0.hidden = [TopicPartition(.session, 0)] }
        try world.crash("app", 0..<8)
        let earlier = LaneWorld.beginning - 70_000
        try world.append(
            .session, app: "app",
            (0..<8).map {
                #"{"type":"session","app":"app","session":"s\#($0)","at":\#(earlier)}"#
            })
        world.time.pass(1)
        try lane.step(waitMilliseconds: 0)
        world.log.steer { $0.hidden = [] }
        try world.run(lane, for: 5_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        try world.checkReplay()
    }

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
