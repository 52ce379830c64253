// Epochs of builds whose checksums had the ids of all events.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Testing

@Suite("Epochs of older builds")
struct OlderEpochsTests {
    /// A world of some epochs, as an older build would have written them. The app's first state is
    /// told before there are ids: from there on no state changes.
    private func world() throws -> LaneWorld {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 1_000..<1_005)
        try world.run(lane, for: 3_000)
        try report(world, 0..<12, lane)
        try makeOlder(world)
        world.settings.rebuild = Rebuild()
        return world
    }

    /// When events happened that have ids, so that their time does not depend on when the log took
    /// them.
    private static let at = LaneWorld.beginning

    /// Events of each input.
    private func report(
        _ world: LaneWorld, _ seconds: Range<Int>, _ lane: EvaluatorLane
    ) throws {
        for second in seconds {
            try world.start("app", second * 5..<second * 5 + 5)
            for (type, rest) in [
                (EventType.adEvent, #""event":"shown""#), (.softError, #""severity":"warning""#),
                (.crash, #""fatal":false"#),
            ] {
                let ids = #""id":"i\#(second)","session":"s\#(second)","at":\#(Self.at)"#
                let event = #"{"type":"\#(type.name)","app":"app",\#(ids),\#(rest)}"#
                try world.append(type, app: "app", [event])
            }
            try world.run(lane, for: 1_000)
        }
    }

    /// Without a change of state a checksum is a sum over events, so what ids add can be added.
    private func makeOlder(_ world: LaneWorld) throws {
        let epochs = try world.epochs()
        let offsets = try world.values(.epoch).map(\.offset)
        for (offset, epoch) in zip(offsets, epochs) {
            var older = epoch
            older.checksumIDs = .all
            older.checksum &+= try sum(of: .all, in: world, before: epoch.offsets)
            older.checksum &-= try sum(of: .counted, in: world, before: epoch.offsets)
            world.memory.damage(TopicPartition(.epoch, 0), at: offset) { _ in older.encode() }
        }
        #expect(try world.epochs().allSatisfy { $0.checksumIDs == .all })
        #expect(try zip(epochs, world.epochs()).contains { $0.checksum != $1.checksum })
    }

    /// The checksum of an evaluator that has counted the records before these offsets.
    private func sum(
        of ids: HashedIDs, in world: LaneWorld, before ends: EpochRecord.Offsets
    ) throws -> UInt64 {
        let decoder = EventDecoder(hashing: ids)
        var batch = EventBatch()
        for type in EventType.allCases {
            for (offset, value) in try world.values(Topic(type)) where offset < ends[type] {
                var rejected: [RejectedEvent] = []
                unsafe value.withUnsafeBytes { value in
                    unsafe decoder.decode(
                        value, append: LaneWorld.beginning, into: &batch, rejected: &rejected)
                }
                #expect(rejected.isEmpty)
            }
        }
        var evaluator = Evaluator(policy: .brisk)
        var decisions = Decisions()
        evaluator.apply(batch, into: &decisions)
        return evaluator.checksum
    }

    private func compared(_ world: LaneWorld) throws -> LogValue? {
        let lines = world.told.lines.filter { $0.message == "partition rebuilt" }
        return try #require(lines.last).metadata["epochs_compared"]
    }

    @Test("are counted again as they were, and those after them as they are now")
    func mixed() throws {
        let world = try world()
        let older = try world.epochs().count
        let lane = world.makeLane()
        try world.run(lane, for: 3_000)
        #expect(try compared(world) == LogValue(older))
        try report(world, 12..<20, lane)
        let all = try world.epochs()
        #expect(all.count > older)
        #expect(all[..<older].allSatisfy { $0.checksumIDs == .all })
        #expect(all[older...].allSatisfy { $0.checksumIDs == .counted })
        // One read of the inputs reaches over the border.
        try world.checkReplay()
        world.settings.rebuild = Rebuild()
        let next = world.makeLane()
        try world.run(next, for: 3_000)
        #expect(try compared(world) == LogValue(all.count))
    }

    @Test("tell of an id that has changed")
    func otherID() throws {
        let world = try world()
        let place = TopicPartition(.adEvent, 0)
        world.memory.damage(place, at: world.memory.bounds(of: place).lowerBound) { bytes in
            Array(String(decoding: bytes, as: UTF8.self).replacing("\"i", with: "\"j").utf8)
        }
        let lane = world.makeLane()
        let fault = try fault { try world.run(lane, for: 3_000) }
        #expect(fault.reason.contains("checksum"))
    }
}
