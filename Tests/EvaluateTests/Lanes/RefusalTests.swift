// Logs that contradict themselves: the lane stops and says why, and never goes on with less.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

@Suite("A lane's refusal")
struct RefusalTests {
    /// Ten seconds of traffic, whose only snapshot is at its beginning.
    private func world() throws -> LaneWorld {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 100_000_000
        let lane = world.makeLane()
        try world.settle(lane)
        for second in 0..<10 {
            try world.start("app", second * 10..<second * 10 + 10)
            try world.crash("app", second * 10..<second * 10 + 3)
            try world.run(lane, for: 1_000)
        }
        return world
    }

    private func refusal(_ world: LaneWorld) throws -> LogFault {
        let lane = world.makeLane()
        let epochs = try world.values(.epoch).count
        let fault = try fault { try world.run(lane, for: 5_000) }
        #expect(fault.remedy == .stop)
        #expect(try world.values(.epoch).count == epochs)
        return fault
    }

    @Test("of a gap between epochs", arguments: [true, false])
    func gap(hasSnapshot: Bool) throws {
        let world = try world()
        let missing = try world.values(.epoch)[5].offset
        world.memory.damage(TopicPartition(.epoch, 0), at: missing) { _ in nil }
        if !hasSnapshot {
            world.memory.deleteRecords(of: TopicPartition(.snapshot, 0), before: 1_000)
        }
        let fault = try refusal(world)
        #expect(fault.reason == "epoch 7 follows epoch 5")
        #expect(fault.place == "epoch[0]")
    }

    @Test("of an epoch that cannot be read")
    func badEpoch() throws {
        let world = try world()
        let offset = try world.values(.epoch)[5].offset
        world.memory.damage(TopicPartition(.epoch, 0), at: offset) { Array($0.dropLast(10)) }
        #expect(try refusal(world).reason == "an epoch cannot be read: offset \(offset): bad_json")
    }

    @Test("of inputs that are not those that were counted")
    func otherInputs() throws {
        let world = try world()
        let offset = try #require(try world.values(.session).dropFirst(5).first).offset
        world.memory.damage(TopicPartition(.session, 0), at: offset) { _ in
            Array(#"{"type":"session","app":"app","session":"another"}"#.utf8)
        }
        let fault = try refusal(world)
        #expect(fault.reason.hasPrefix("counted again, epoch "))
        #expect(fault.reason.hasSuffix(" has another checksum"))
    }

    @Test("of inputs that end before their epochs")
    func cutInputs() throws {
        let world = try world()
        let offset = try #require(try world.values(.crash).last).offset
        world.memory.damage(TopicPartition(.crash, 0), at: offset) { _ in nil }
        #expect(
            try refusal(world).reason == "the inputs end before the epochs that were made of them")
    }

    @Test("of committed positions that are not those of the last epoch", arguments: [4, 0, nil])
    func otherPositions(position: Int64?) throws {
        let world = try world()
        world.memory.setCommitted(TopicPartition(.crash, 0), to: position)
        let last = try #require(try world.epochs().last)
        let ends = "epoch \(last.number) ends crash at \(last.offsets.crash)"
        let committed = position.map { "\($0) is committed" } ?? "no position is committed"
        #expect(try refusal(world).reason == "\(ends), but \(committed)")
    }

    @Test("of positions without any epoch")
    func noEpochs() throws {
        let world = try world()
        world.memory.deleteRecords(
            of: TopicPartition(.epoch, 0),
            before: world.memory.bounds(of: TopicPartition(.epoch, 0)).upperBound)
        #expect(
            try refusal(world).reason
                == "positions are committed, but no epoch is there to explain them")
    }

    @Test("of inputs deleted before they were counted")
    func deletedInputs() throws {
        let world = try world()
        for number in 0..<10 { try world.start("app", 1_000 + number..<1_001 + number) }
        let end = world.memory.bounds(of: TopicPartition(.session, 0)).upperBound
        world.memory.deleteRecords(of: TopicPartition(.session, 0), before: end - 2)
        let fault = try refusal(world)
        #expect(fault.reason.contains("is no longer there"))
    }
}
