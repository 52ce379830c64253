// Too much of something: of one app, of one input, of apps.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Simulation
import Testing

@Suite("A lane under pressure")
struct PressureTests {
    @Test("decides for other partitions as soon while one app floods its own")
    func hotApp() throws {
        let world = LaneWorld(partitions: 2)
        let cold = try #require(["a", "b", "c", "d"].first { home($0) == 0 })
        let hot = try #require(["a", "b", "c", "d"].first { home($0) == 1 })
        let lane = world.makeLane()
        try world.settle(lane)
        // Far more than a poll brings: the hot partition is behind all the time.
        world.log.steer { $0.pieceBytes = 20_000 }
        for number in 0..<2_000 { try world.start(hot, number * 10..<number * 10 + 10) }
        try world.start(cold, 0..<10)
        try world.crash(cold, 0..<3)
        var decidedAt: Int64?
        for _ in 0..<30 where decidedAt == nil {
            try world.run(lane, for: 100)
            if try !world.throttle(0).isEmpty { decidedAt = world.time.steady }
        }
        #expect(try #require(try world.epochs(1).last).offsets.session < 2_000)
        // The tick at 1 s, the distance of the clock of 0.5 s, and no more than a step.
        #expect(try #require(decidedAt) <= 1_600)
    }

    private func home(_ app: String) -> Int { Partitioner.partition(of: app.utf8, partitions: 2) }

    @Test("reads no more of an input than may wait for the others")
    func heldInput() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        world.log.steer { steering in
            steering.stalled = [TopicPartition(.crash, 0)]
            steering.pieceBytes = 1 << 20
        }
        let sessions = (0..<1_000).map { #"{"type":"session","app":"app","session":"s\#($0)"}"# }
        for _ in 0..<300 {
            try world.append(.session, app: "app", sessions)
            world.time.pass(10)
        }
        for _ in 0..<200 {
            world.time.pass(100)
            try lane.step(waitMilliseconds: 0)
        }
        #expect(lane.eventsWaiting >= 1 << 10)
        // What one poll may bring on top: a piece of records of 56 bytes an event.
        #expect(lane.eventsWaiting <= 1 << 10 + 1 << 15)
        world.log.steer { $0.stalled = [] }
        try world.run(lane, for: 100_000, piece: 1_000)
        #expect(lane.eventsWaiting == 0)
        #expect(try #require(try world.epochs().last).offsets.session == 300)
        try world.checkReplay()
    }

    /// The most records of a millisecond that can wait for its last one is what may wait at all.
    @Test("goes on through more records of one millisecond than may wait")
    func oneMillisecond() throws {
        let world = LaneWorld()
        world.log.steer { $0.pieceBytes = 1 << 20 }
        let sessions = (0..<1_000).map { #"{"type":"session","app":"app","session":"s\#($0)"}"# }
        for _ in 0..<150 { try world.append(.session, app: "app", sessions) }
        try world.start("app", 2_000..<2_010)
        try world.crash("app", 0..<500)
        let lane = world.makeLane()
        try world.run(lane, for: 20_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        try world.checkReplay()
    }

    @Test("refuses apps beyond its limit, counts them, and serves the others")
    func tooManyApps() throws {
        let world = LaneWorld()
        world.settings.limits.appsMax = 2
        let lane = world.makeLane()
        try world.settle(lane)
        for app in ["a", "b", "c", "d"] { try world.start(app, 0..<10) }
        // So many that they are counted where they were decoded.
        try world.start("e", 0..<200)
        try world.crash("c", 0..<3)
        try world.crash("a", 0..<3)
        try world.run(lane, for: 3_000)
        #expect(try world.story("a") == ["1 Throttle 1"])
        #expect(try world.story("b") == ["1 Normal 1"])
        #expect(try world.story("c").isEmpty)
        let line = #"adbrake_evaluate_rejected_total{reason="too_many_apps"} 223"#
        #expect(world.metrics.rendered().contains(line))
        let dead = try world.dead()
        #expect(dead.count == 3)
        #expect(dead.allSatisfy { $0.contains(#""reason":"too_many_apps""#) })
        for (app, letter) in zip(["c", "d", "e"], dead) {
            #expect(letter.contains(#""app":"\#(app)""#))
        }
        let next = world.makeLane()
        try world.run(next, for: 90_000)
        #expect(
            try world.story("a") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }
}
