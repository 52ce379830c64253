// A state that is made anew from the topics because somebody does not trust the snapshots.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

@Suite("A rebuild")
struct RebuildTests {
    /// A world whose app was throttled at 1 s and whose lane has died at 12 s, with snapshots that
    /// lead anybody astray who takes them.
    private func world() throws -> LaneWorld {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 1_000
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        for second in 0..<12 {
            // Half of the epochs change no state.
            try world.start("other-\(min(second, 5))", second * 5..<second * 5 + 5)
            try world.run(lane, for: 1_000)
        }
        return world
    }

    private func told(_ world: LaneWorld) throws -> [String: LogValue] {
        try #require(world.told.line("partition rebuilt")).metadata
    }

    @Test("decides every epoch again, compares each, and snapshots at once")
    func whole() throws {
        let world = try world()
        let before = try #require(try world.epochs().last)
        world.settings.rebuild = Rebuild()
        let lane = world.makeLane()
        try world.run(lane, for: 5_000)
        let told = try told(world)
        #expect(told["epochs"] == LogValue(before.number))
        #expect(told["epochs_compared"] == LogValue(before.number))
        #expect(told["no_longer_there"] == nil)
        let fresh = try #require(try world.epochs().last?.snapshots)
        #expect(fresh.allSatisfy { $0.epoch > before.number })
        #expect(fresh.last?.epoch == before.number + 1)
        try world.run(lane, for: 90_000)
        #expect(try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test("looks at no snapshot, not even to find it torn")
    func torn() throws {
        let world = try world()
        for pointer in try #require(try world.epochs().last).snapshots {
            world.memory.damage(TopicPartition(.snapshot, 0), at: pointer.offset) { _ in nil }
        }
        world.settings.rebuild = Rebuild()
        let lane = world.makeLane()
        try world.run(lane, for: 90_000)
        #expect(world.told.line("falling back to an older snapshot") == nil)
        #expect(try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
    }

    @Test("takes states as published when inputs are gone, says what is, and compares the rest")
    func cut() throws {
        let world = try world()
        let epochs = try world.epochs()
        let middle = epochs[epochs.count / 2]
        let session = TopicPartition(.session, 0)
        world.memory.deleteRecords(of: session, before: middle.offsets.session)
        let states = Set(try world.throttle().map(\.change.app)).count
        world.settings.rebuild = Rebuild()
        let lane = world.makeLane()
        try world.run(lane, for: 1_500)
        let told = try told(world)
        #expect(
            told["no_longer_there"]
                == .text("session before offset \(middle.offsets.session)"))
        #expect(told["states"] == LogValue(states))
        guard case .integer(let compared) = told["epochs_compared"] else {
            throw NoFault()
        }
        // An epoch with a change in it cannot be compared without deciding.
        let quiet = epochs.suffix(from: epochs.count / 2 + 1).filter { $0.changes == 0 }.count
        #expect(compared > 0 && compared <= quiet)
        try world.run(lane, for: 100_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
    }

    @Test(
        "stops when the inputs are not those that the epochs were made of",
        arguments: [true, false])
    func otherInputs(isCut: Bool) throws {
        let world = try world()
        let epochs = try world.epochs()
        let session = TopicPartition(.session, 0)
        if isCut {
            world.memory.deleteRecords(of: session, before: epochs[0].offsets.session)
        }
        let end = world.memory.bounds(of: session).upperBound
        for offset in (end - 6)..<end {
            world.memory.damage(session, at: offset) { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                return Array(text.replacing("on\":\"s", with: "on\":\"x").utf8)
            }
        }
        world.settings.rebuild = Rebuild()
        let lane = world.makeLane()
        let fault = try fault { try world.run(lane, for: 1_500) }
        #expect(fault.remedy == .stop)
        #expect(fault.reason.contains("checksum"))
        #expect(try world.epochs().count == epochs.count)
    }

    @Test("is done once for each partition in the life of a process")
    func once() throws {
        let world = try world()
        world.settings.rebuild = Rebuild()
        for _ in 0..<3 {
            let lane = world.makeLane()
            try world.run(lane, for: 3_000)
        }
        #expect(world.told.lines.count { $0.message == "partition rebuilt" } == 1)
        try world.checkReplay()
    }

    @Test("of an empty log begins with nothing")
    func empty() throws {
        let world = LaneWorld()
        world.settings.rebuild = Rebuild()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 5_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        #expect(try told(world)["from"] == "nothing: no epoch is there")
    }
}
