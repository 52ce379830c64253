// How a lane merges four inputs, and when its clock moves.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

@Suite("A lane's merge and clock")
struct MergeTests {
    @Test("gives the same records whatever comes first from the log")
    func fetchSchedules() throws {
        var expected: String?
        for seed in UInt64(0)..<100 {
            let world = LaneWorld(partitions: 2, seed: seed)
            try fill(world)
            world.log.steer { steering in
                steering.heldShare = seed == 0 ? 0 : 0.6
                steering.pieceBytes = seed == 0 ? 1 << 20 : steering.random.number(200...6_000)
            }
            let lane = world.makeLane()
            var random = SimulationRandom(seed: seed)
            while world.time.steady < 60_000 {
                world.time.pass(random.number(Int64(1)...400))
                try lane.step(waitMilliseconds: 0)
            }
            // With what was held back read at last, and time for the clock to follow.
            world.log.steer { steering in
                steering.heldShare = 0
                steering.pieceBytes = 1 << 20
            }
            try world.run(lane, for: 120_000 - world.time.steady, piece: 1_000)
            let changes = try world.published().replacing(/,"epoch":\d+/, with: "")
            #expect(changes.contains(#""state":"Throttle""#) && changes.contains("recovery"))
            #expect(changes.contains(#""app":"uploads-at-once""#))
            let isSame = changes == expected ?? changes
            #expect(isSame, "seed \(seed)")
            expected = changes
            if seed % 20 == 0 { try world.checkReplay() }
        }
    }

    /// Twelve minutes ago and since: six apps, two of which crash now and then, and one that
    /// uploads hundreds at once.
    private func fill(_ world: LaneWorld) throws {
        world.time.jump(-200_000)
        var random = SimulationRandom(seed: 1)
        for number in 0..<300 {
            let app = "app-\(random.number(0...5))"
            try world.start(app, number * 4..<number * 4 + 4)
            if app < "app-2", number % 150 < 75 {
                try world.crash(app, number * 4..<number * 4 + 2)
            }
            try world.append(
                .adEvent, app: app, [#"{"type":"ad_event","app":"\#(app)","event":"shown"}"#])
            if number % 100 == 50 {
                // So many that they are counted where they were decoded.
                let sessions = number * 10..<number * 10 + 400
                try world.start("uploads-at-once", sessions)
                try world.crash("uploads-at-once", sessions.prefix(200))
            }
            world.time.jump(random.number(Int64(0)...1_200))
        }
        #expect(world.time.wall < LaneWorld.beginning)
        world.time.jump(LaneWorld.beginning - world.time.wall)
    }

    @Test("is not held back by an input in which nothing is")
    func silentInput() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        // Sessions alone flow; the crash topic stays empty after two records at the beginning.
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        for second in 1..<130 {
            try world.start("app", second * 10..<second * 10 + 1)
            try world.run(lane, for: 1_000)
        }
        let story = try world.story("app")
        // 3 of 30 sessions are 90 %.
        #expect(story == ["1 Throttle 1", "2 Caution 40", "3 Normal 51"])
        try world.checkReplay()
    }

    @Test("waits for an input that lags, and drops nothing of it")
    func laggingInput() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        world.log.steer { $0.stalled = [TopicPartition(.crash, 0)] }
        try world.crash("app", 0..<3)
        for second in 1..<4_000 where second % 10 == 0 {
            try world.start("app", second * 10..<second * 10 + 1)
            try world.run(lane, for: 10_000, piece: 1_000)
        }
        let stuck = try #require(try world.epochs().last)
        #expect(stuck.clock <= LaneWorld.beginning)
        #expect(try world.throttle().isEmpty)
        world.log.steer { $0.stalled = [] }
        try world.run(lane, for: 1_000)
        #expect(try world.story("app").first == "1 Throttle 1")
        #expect(!world.metrics.rendered().contains(#"kind="expired""#))
        #expect(!world.metrics.rendered().contains(#"kind="straggler""#))
        try world.checkReplay()
    }

    /// That nothing waits in an input may be known as of some time ago only: what it brings is
    /// younger, and something between both may still come by another input.
    @Test("keeps a record that is younger than the log's answer until there is a younger one")
    func youngerThanAnswer() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        world.log.steer { steering in
            steering.answerAge = 300
            steering.hidden = [TopicPartition(.crash, 0)]
        }
        world.time.pass(1_000)
        try world.crash("app", 0..<8)
        world.time.pass(1)
        // Counted before the crashes they would lie in another minute than behind them.
        let earlier = LaneWorld.beginning - 70_000
        let sessions = (0..<8).map {
            #"{"type":"session","app":"app","session":"s\#($0)","at":\#(earlier)}"#
        }
        try world.append(.session, app: "app", sessions)
        try lane.step(waitMilliseconds: 0)
        #expect(lane.eventsWaiting == 8)
        world.log.steer { $0.hidden = [] }
        world.time.pass(100)
        try lane.step(waitMilliseconds: 0)
        #expect(lane.eventsWaiting == 16)
        try world.run(lane, for: 5_000)
        #expect(lane.eventsWaiting == 0)
        #expect(try world.story("app").count == 1)
        #expect(!world.metrics.rendered().contains(#"kind="straggler""#))
        try world.checkReplay()
    }

    @Test("says Normal at the exact tick after everything has fallen silent, once")
    func silence() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 30_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        try world.run(lane, for: 3_600_000, piece: 250)
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test("stands still while the log is out of reach")
    func unreachable() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 10_000)
        let before = try #require(try world.epochs().last)
        world.log.steer { $0.faultShare = 1 }
        for _ in 0..<100 {
            world.time.pass(1_000)
            let fault = try fault { try lane.step(waitMilliseconds: 0) }
            #expect(fault.remedy == .retry)
        }
        #expect(try world.epochs().last == before)
        world.log.steer { $0.faultShare = 0 }
        try world.run(lane, for: 2_000)
        #expect(try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }
}
