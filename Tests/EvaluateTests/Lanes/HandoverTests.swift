// Partitions that leave a lane and come back, and restores that are cut in pieces.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Simulation
import Testing

@Suite("A lane whose partitions change hands")
struct HandoverTests {
    /// A world with partitions 0 and 1, each with an app, both in the first lane.
    private func world() throws -> (LaneWorld, EvaluatorLane, [String]) {
        let world = LaneWorld(partitions: 2)
        world.settings.snapshotMilliseconds = 1_000
        let lane = world.makeLane()
        try world.settle(lane)
        let apps = (0..<2).map { partition in
            (0..<100).map { "app-\($0)" }.first {
                Partitioner.partition(of: $0.utf8, partitions: 2) == partition
            } ?? ""
        }
        for second in 0..<4 {
            for app in apps { try world.start(app, second * 10..<second * 10 + 10) }
            try world.run(lane, for: 1_000)
        }
        return (world, lane, apps)
    }

    /// By what the partitions of the last line about that were brought back.
    private func restored(_ world: LaneWorld) throws -> [String: LogValue] {
        try #require(world.told.lines.last { $0.message == "partitions restored" }).metadata
    }

    @Test("goes on with what it had when nobody has committed meanwhile")
    func current() throws {
        let (world, first, apps) = try world()
        world.memory.rebalance([0: [0]])
        try world.settle(first)
        world.memory.rebalance([0: [0, 1]])
        try world.settle(first)
        let told = try restored(world)
        #expect(told["kept"] == 1)
        #expect(told["epochs_counted_again"] == 0)
        for app in apps { try world.crash(app, 0..<3) }
        try world.run(first, for: 100_000)
        for app in apps { #expect(try world.story(app).count == 4) }
        try world.checkReplay()
    }

    @Test("tells how far its clock had moved before it takes over what people decide")
    func ahead() throws {
        let (world, first, apps) = try world()
        world.settings.heartbeatMilliseconds = 60_000
        world.settings.controlMilliseconds = 0
        let patient = world.makeLane()
        first.close()
        try world.run(patient, for: 3_700)
        world.memory.rebalance([0: [0]])
        try world.settle(patient)
        world.memory.rebalance([0: [0, 1]])
        try world.settle(patient)
        #expect(try restored(world)["kept"] == 1)
        try world.control(
            .override(
                AppID(apps[1]), OverrideTerms(mode: .pin, state: .halt, expiresAt: nil)))
        try world.run(patient, for: 10_000)
        #expect(try world.story(apps[1]).last == "2 Halt 8")
        try world.checkReplay()
    }

    @Test(
        "counts again when another one has committed, be it the clock alone",
        arguments: [true, false])
    func bounced(hasInput: Bool) throws {
        let (world, first, apps) = try world()
        let second = world.makeLane(1)
        try second.step(waitMilliseconds: 0)
        world.memory.rebalance([0: [0], 1: [1]])
        try world.settle(first, second)
        if hasInput { try world.crash(apps[1], 0..<3) }
        try world.run(first, second, for: 3_000)
        world.memory.rebalance([0: [0, 1]])
        try world.settle(second, first, steps: 4)
        let told = try restored(world)
        #expect(told["kept"] == 0)
        #expect(told["partitions"] == 1)
        #expect(told["epochs_counted_again"] != 0)
        if !hasInput { try world.crash(apps[1], 0..<3) }
        try world.run(first, for: 100_000)
        #expect(try world.story(apps[1]).count == 4)
        try world.checkReplay()
    }

    @Test("keeps nothing for longer than a rebalance takes")
    func bounded() throws {
        let (world, first, _) = try world()
        world.memory.rebalance([0: [0]])
        try world.settle(first)
        try world.run(first, for: 31_000)
        world.memory.rebalance([0: [0, 1]])
        try world.settle(first)
        #expect(try restored(world)["kept"] == 0)
        try world.checkReplay()
    }

    @Test("commits its other partitions while one takes long to come back")
    func others() throws {
        let (world, first, apps) = try world()
        world.settings.restorePieceMilliseconds = 0
        world.log.steer { $0.pieceBytes = 1 }
        let lane = world.makeLane()
        try lane.step(waitMilliseconds: 0)
        world.memory.rebalance([0: [0]])
        try world.settle(lane, steps: 200)
        world.memory.rebalance([0: [0, 1]])
        func epochs(_ partition: Int) -> Int {
            Int(world.memory.bounds(of: TopicPartition(.epoch, partition)).upperBound)
        }
        let before = (epochs(0), epochs(1))
        var during = 0
        for _ in 0..<2_000 where epochs(1) == before.1 {
            try world.start(apps[0], during..<during + 1)
            world.time.pass(200)
            try lane.step(waitMilliseconds: 0)
            during += 1
        }
        #expect(epochs(1) > before.1)
        #expect(during > 20)
        // One commit each 200 ms, with what the lane did besides.
        #expect(epochs(0) - before.0 > during / 2)
        withExtendedLifetime(first) {}
        try world.checkReplay()
    }

    @Test("goes on with a restore that was cut short when nothing has changed meanwhile")
    func cutShort() throws {
        let (world, _, _) = try world()
        world.settings.restorePieceMilliseconds = 0
        world.log.steer { $0.pieceBytes = 1 }
        let lane = world.makeLane()
        try lane.step(waitMilliseconds: 0)
        world.memory.rebalance([0: [1]])
        try world.settle(lane, steps: 12)
        world.memory.rebalance([0: []])
        try world.settle(lane, steps: 2)
        world.memory.rebalance([0: [1]])
        try world.settle(lane, steps: 400)
        try world.run(lane, for: 5_000)
        world.memory.rebalance([0: [0, 1]])
        try world.settle(lane, steps: 400)
        try world.run(lane, for: 5_000)
        try world.checkReplay()
    }
}
