// Commits that fail, are in doubt, or come from a lane that is none any more; partitions that move.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

@Suite("A lane's commits")
struct CommitTests {
    @Test(
        "take effect once, whatever the log says of them",
        arguments: [
            [MemoryLog.FaultMoment.before], [.after], [.before, .after], [.after, .before],
            [.after, .after, .after],
        ])
    func faults(moments: [MemoryLog.FaultMoment]) throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.append(.crash, app: "app", [#"{"type":"crash"}"#])
        world.memory.failCommits(moments)
        var faults = 0
        for _ in 0..<100 {
            world.time.pass(100)
            do { try lane.step(waitMilliseconds: 0) } catch {
                #expect(error.remedy == .retry)
                faults += 1
                // What is in doubt is not mixed with what has come since.
                try world.start("app", 100 + faults..<101 + faults)
            }
        }
        #expect(faults == moments.count)
        #expect(try world.story("app") == ["1 Throttle 1"])
        #expect(try world.dead().count == 1)
        try world.checkReplay()
    }

    @Test("in doubt when their lane dies are found out by the next one", arguments: [true, false])
    func doubt(tookEffect: Bool) throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        world.memory.failCommits([tookEffect ? .after : .before])
        #expect(throws: LogFault.self) { try world.run(lane, for: 5_000) }
        let next = world.makeLane()
        try world.run(next, for: 100_000)
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
        let fault = try fault { try world.run(lane, for: 5_000) }
        #expect(fault.remedy == .fenced)
    }

    @Test("come before a revoked partition is given away")
    func revoked() throws {
        var policy = Policy.brisk
        policy.tickMilliseconds = 10_000
        let world = LaneWorld(partitions: 2, policy: policy)
        world.settings.epochMilliseconds = 100_000
        let first = world.makeLane(0)
        try world.run(first, for: 4_100)
        let app = try #require(["a", "b", "c", "d"].first { home($0, of: world) == 1 })
        try world.start(app, 0..<10)
        try world.crash(app, 0..<3)
        let before = try world.epochs(1).count
        world.time.pass(1)
        try first.step(waitMilliseconds: 0)
        #expect(try world.epochs(1).count == before)
        let second = world.makeLane(1)
        try second.step(waitMilliseconds: 0)
        try first.step(waitMilliseconds: 0)
        // What was counted is committed by the one who has counted it.
        try first.step(waitMilliseconds: 0)
        let epoch = try #require(try world.epochs(1).last)
        #expect(epoch.number == Int64(before) + 1)
        #expect(epoch.offsets.session == 1 && epoch.offsets.crash == 1)
        try world.run(first, second, for: 120_000)
        #expect(
            try world.story(app) == ["1 Throttle 10", "2 Caution 90", "3 Normal 110"])
        #expect(try #require(try world.epochs(1).last).generation >= epoch.generation)
        try world.checkReplay()
    }

    private func home(_ app: String, of world: LaneWorld) -> Int {
        Partitioner.partition(of: app.utf8, partitions: world.memory.partitions)
    }

    @Test("tell every change once while partitions move about", arguments: UInt64(0)..<20)
    func rebalance(seed: UInt64) throws {
        var random = SimulationRandom(seed: seed)
        let world = LaneWorld(partitions: 4, seed: seed)
        world.settings.snapshotMilliseconds = 5_000
        world.log.steer { steering in
            steering.heldShare = 0.2
            steering.pieceBytes = 4_000
        }
        var lanes = (0..<2).map { world.makeLane($0) }
        for step in 0..<600 {
            let app = "app-\(random.number(0...7))"
            try world.start(app, step * 5..<step * 5 + 5)
            if random.chance(0.3) { try world.crash(app, step * 5..<step * 5 + 2) }
            if random.chance(0.05) {
                let shares = random.number(0...15)
                let moved = (0..<4).filter { shares >> $0 & 1 == 1 }
                world.memory.rebalance([
                    0: Set(moved), 1: Set(0..<4).subtracting(moved),
                ])
            }
            if random.chance(0.02) {
                let number = random.number(0...1)
                world.memory.expel(lane: number)
                lanes[number] = world.makeLane(number)
            }
            world.time.pass(random.number(Int64(10)...400))
            try lanes[random.number(0...1)].step(waitMilliseconds: 0)
        }
        world.log.steer { $0.heldShare = 0 }
        world.memory.rebalance([0: [0, 1], 1: [2, 3]])
        try world.settle(lanes[0], lanes[1], steps: 100)
        try world.run(lanes[0], lanes[1], for: 200_000, piece: 1_000)
        for number in 0..<8 {
            let story = try world.story("app-\(number)")
            #expect(story.last?.contains("Normal") ?? false, "seed \(seed)")
            let revisions = story.map { $0.prefix { $0 != " " } }
            #expect(revisions == (1...revisions.count).map { "\($0)"[...] }, "seed \(seed)")
        }
        try world.checkReplay()
    }

    @Test("are refused once another has the lane, and it stops")
    func fenced() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.run(lane, for: 5_000)
        let epochs = try world.epochs().count
        world.memory.expel(lane: 0)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        let fault = try fault { try world.run(lane, for: 5_000) }
        #expect(fault.remedy == .fenced)
        #expect(try world.epochs().count == epochs)
        #expect(try world.throttle().isEmpty)
    }

    @Test("of a lane that leaves hold all it has counted, with its state")
    func leave() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        world.time.pass(1)
        try lane.step(waitMilliseconds: 0)
        world.memory.failCommits([.after, .before])
        #expect(throws: LogFault.self) { try lane.leave() }
        #expect(throws: LogFault.self) { try lane.leave() }
        try lane.leave()
        lane.close()
        let last = try #require(try world.epochs().last)
        #expect(last.snapshots.first?.epoch == last.number - 1)
        #expect(last.offsets.session == 1)
        let next = world.makeLane()
        try world.run(next, for: 5_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        try world.checkReplay()
    }

    @Test("of a live lane end when it is asked to stop")
    func run() throws {
        let world = LaneWorld()
        try world.start("app", 0..<10)
        let stop = StopSignal()
        stop.request(reason: "test")
        let lane = world.makeLane()
        try lane.run(stop: stop)
        #expect(try world.epochs().isEmpty)
    }
}
