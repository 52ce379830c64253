// Logs that have an epoch twice: a broker has committed an attempt that had failed, or shows late
// what a worker has written whose partition others have long taken over.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Simulation
import Testing

@Suite("An epoch that is there again")
struct RepeatedEpochTests {
    /// Ten seconds of traffic, whose only snapshot is at its beginning.
    private func world() throws -> LaneWorld {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 100_000_000
        try goOn(world, seconds: 0..<10)
        return world
    }

    /// A new lane restores and counts on.
    private func goOn(_ world: LaneWorld, seconds: Range<Int>) throws {
        let lane = world.makeLane()
        try world.settle(lane)
        for second in seconds {
            try world.start("app", second * 10..<second * 10 + 10)
            try world.crash("app", second * 10..<second * 10 + (second < 10 ? 3 : 0))
            try world.run(lane, for: 1_000)
        }
    }

    private func append(_ epoch: [UInt8], to world: LaneWorld) throws {
        try world.memory.append([OutgoingRecord(.epoch, partition: 0, key: nil, value: epoch)])
    }

    /// The log, replayed epoch by epoch, gives what was published.
    private func checkReplay(_ world: LaneWorld) throws {
        let replay = LogReplay(
            log: world.memory, policy: world.settings.policy, limits: world.settings.limits)
        let again = String(decoding: try replay.run().output, as: UTF8.self)
        #expect(again == (try world.published()))
    }

    @Test("counts once, at the end of the log and in its middle")
    func repeated() throws {
        let world = try world()
        let last = try #require(try world.epochs().last)
        try append(try #require(try world.values(.epoch).last).value, to: world)
        try goOn(world, seconds: 10..<12)
        let next = try world.epochs().drop { $0.number <= last.number }
        #expect(next.first?.number == last.number + 1)
        try checkReplay(world)
        // From the snapshot at the beginning, across both.
        try goOn(world, seconds: 12..<14)
        try checkReplay(world)
    }

    @Test("does not count when a worker before has written it")
    func late() throws {
        let world = try world()
        let early = try #require(try world.values(.epoch).dropFirst(3).first).value
        try goOn(world, seconds: 10..<12)
        let last = try #require(try world.epochs().last)
        #expect(last.generation > 1)
        try append(early, to: world)
        try goOn(world, seconds: 12..<14)
        #expect(try world.epochs().last.map { $0.number > last.number } == true)
        try checkReplay(world)
    }
}
