// What a lane makes of a log that it finds: whole, damaged, or cut.
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Simulation
import Testing

@Suite("A lane's restore")
struct RestoreTests {
    /// A world in which an app was throttled at 1 s, with snapshots all along, whose lane has died
    /// at 12 s.
    private static func world(_ kind: Damage? = nil) throws -> LaneWorld {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 1_000
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        for second in 0..<12 {
            try world.start("other-\(second)", 0..<5)
            try world.run(lane, for: 1_000)
        }
        let last = try #require(try world.epochs().last)
        #expect(last.snapshots.count == EpochRecord.snapshotsMax)
        return world
    }

    enum Damage: CaseIterable {
        case flippedBit, missing, cutShort, deleted, ofAnotherEpoch
    }

    private static func damage(
        _ pointer: EpochRecord.SnapshotPointer, as kind: Damage, _ world: LaneWorld
    )
        throws
    {
        let place = TopicPartition(.snapshot, 0)
        switch kind {
        case .flippedBit:
            world.memory.damage(place, at: pointer.offset) { bytes in
                var bytes = bytes
                bytes[bytes.count / 2] ^= 0x10
                return bytes
            }
        case .missing: world.memory.damage(place, at: pointer.offset) { _ in nil }
        case .cutShort:
            world.memory.damage(place, at: pointer.offset) { Array($0.dropLast(7)) }
        case .deleted: world.memory.deleteRecords(of: place, before: pointer.offset + 1)
        case .ofAnotherEpoch:
            let other = try #require(try world.values(.snapshot).first).value
            world.memory.damage(place, at: pointer.offset) { _ in other }
        }
    }

    @Test("falls back to an older snapshot, and says so", arguments: Damage.allCases)
    func olderSnapshot(kind: Damage) throws {
        let world = try Self.world()
        let last = try #require(try world.epochs().last)
        let newest = try #require(last.snapshots.first)
        // What retention deletes it deletes from the old end on.
        let damaged = kind == .deleted ? last.snapshots : [newest]
        for pointer in damaged.reversed() { try Self.damage(pointer, as: kind, world) }
        let lane = world.makeLane()
        try world.run(lane, for: 90_000)
        let line = try #require(world.told.line("falling back to an older snapshot"))
        #expect(line.metadata["epoch"] == LogValue(newest.epoch))
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test("counts every epoch again when no snapshot is left")
    func everyEpoch() throws {
        let world = try Self.world()
        for pointer in try #require(try world.epochs().last).snapshots {
            try Self.damage(pointer, as: .flippedBit, world)
        }
        let lane = world.makeLane()
        try world.run(lane, for: 90_000)
        #expect(
            world.told.line(
                "no snapshot is left: states as published, windows from the inputs still there")
                == nil)
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test(
        "keeps states when early inputs are gone, and eases nothing before its windows are full"
    )
    func earlyInputsGone() throws {
        let world = try Self.world()
        let before = try #require(try world.epochs().last)
        world.memory.deleteRecords(of: TopicPartition(.snapshot, 0), before: 1_000)
        for type in EventType.allCases {
            let place = TopicPartition(Topic(type), 0)
            world.memory.deleteRecords(of: place, before: before.offsets[type])
        }
        let lane = world.makeLane()
        try world.run(lane, for: 3_590_000, piece: 1_000)
        #expect(
            world.told.line(
                "no snapshot is left: states as published, windows from the inputs still there")
                != nil)
        #expect(try world.story("app") == ["1 Throttle 1"])
        // It brakes all the same, and goes on through another restart.
        try world.start("other-1", 100..<110)
        try world.crash("other-1", 100..<104)
        try world.run(lane, for: 5_000)
        #expect(try world.story("other-1") == ["1 Normal 2", "2 Throttle 3603"])
        let next = world.makeLane()
        try world.run(next, for: 200_000)
        // An hour after the last epoch that the lost windows belonged to, which ended at 11 s.
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 3631", "3 Normal 3642"])
        let numbers = try world.epochs().map(\.number)
        #expect(numbers == Array(1...Int64(numbers.count)))
    }

    @Test("takes the newest state from throttle, though an older one was written over it")
    func olderState() throws {
        let world = try Self.world()
        let lane = world.makeLane()
        try world.run(lane, for: 75_000)
        #expect(try world.story("app") == ["1 Throttle 1", "2 Caution 81"])
        let old = try #require(
            try world.values(.throttle).first { value in
                String(decoding: value.value, as: UTF8.self).contains(#""app":"app""#)
            })
        try world.memory.append([
            OutgoingRecord(
                .throttle, partition: 0, key: Array("app".utf8), value: old.value)
        ])
        let last = try #require(try world.epochs().last)
        world.memory.deleteRecords(of: TopicPartition(.snapshot, 0), before: 1_000)
        for type in EventType.allCases {
            world.memory.deleteRecords(
                of: TopicPartition(Topic(type), 0), before: last.offsets[type])
        }
        let next = world.makeLane()
        try world.run(next, for: 3_700_000, piece: 1_000)
        let story = try world.story("app")
        #expect(story.dropLast() == ["1 Throttle 1", "2 Caution 81", "1 Throttle 1"])
        #expect(story.last?.hasPrefix("3 Normal") ?? false, "\(story)")
    }

    @Test("fills windows from the inputs that are left")
    func lateInputsLeft() throws {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 100_000_000
        let lane = world.makeLane()
        try world.settle(lane)
        for second in 0..<20 {
            try world.start("app", second * 10..<second * 10 + 10)
            if second > 16 { try world.crash("app", second * 10..<second * 10 + 10) }
            try world.run(lane, for: 1_000)
        }
        #expect(try world.story("app") == ["1 Normal 1", "2 Throttle 19"])
        let last = try #require(try world.epochs().last)
        world.memory.deleteRecords(of: TopicPartition(.snapshot, 0), before: 1_000)
        world.memory.deleteRecords(
            of: TopicPartition(.session, 0), before: last.offsets.session - 5)
        let next = world.makeLane()
        try world.run(next, for: 1_000)
        try world.start("app", 1_000..<1_001)
        try world.run(next, for: 5_000_000, piece: 1_000)
        #expect(try world.story("app").count == 4)
        let eased = try #require(try world.throttle().first { $0.change.revision == 3 })
        #expect(eased.change.since >= LaneWorld.beginning + 3_614_000)
    }

    @Test("does not take an outage for a lost snapshot", arguments: UInt64(0)..<20)
    func outage(seed: UInt64) throws {
        let world = try Self.world()
        world.log.steer { steering in
            steering.random = SimulationRandom(seed: seed)
            steering.faultShare = 0.3
        }
        let lane = world.makeLane()
        var faults = 0
        for _ in 0..<300 {
            do { try lane.step(waitMilliseconds: 0) } catch {
                #expect(error.remedy == .retry)
                faults += 1
            }
        }
        world.log.steer { $0.faultShare = 0 }
        #expect(faults > 0)
        #expect(!world.told.lines.contains { $0.level >= .warning }, "\(world.told.lines)")
        try world.run(lane, for: 90_000)
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test("gives the same lane after every restart, at whatever moment")
    func oddRestarts() throws {
        var random = SimulationRandom(seed: 7)
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 7_000
        var lane = world.makeLane()
        for second in 0..<150 {
            try world.start("app", second * 4..<second * 4 + 4)
            if (20..<50).contains(second) {
                try world.crash("app", second * 4..<second * 4 + 2)
            }
            try world.run(lane, for: 1_000, piece: random.number(Int64(50)...1_000))
            if random.chance(0.3) {
                lane = world.makeLane()
                world.time.pass(random.number(Int64(1)...1_500))
            }
        }
        try world.run(lane, for: 100_000)
        #expect(try world.story("app").count == 4)
        try world.checkReplay()
    }

    @Test("says Normal at the same tick after a restart without any new record")
    func timers() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 60_000)
        // Away from before the first easing until after the second.
        world.time.pass(40_000)
        let next = world.makeLane()
        try world.run(next, for: 1_000)
        #expect(
            try world.story("app") == ["1 Throttle 1", "2 Caution 81", "3 Normal 92"])
        try world.checkReplay()
    }

    @Test("takes one more snapshot after the last events, so that idle epochs are not read again")
    func idleSnapshot() throws {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = 10_000
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.run(lane, for: 5_000)
        try world.start("app", 10..<20)
        try world.run(lane, for: 60_000)
        let last = try #require(try world.epochs().last)
        let snapshot = try #require(last.snapshots.first)
        let epoch = try #require(try world.epochs().first { $0.number == snapshot.epoch })
        #expect(epoch.offsets == last.offsets)
        try world.run(lane, for: 7_200_000, piece: 2_000)
        let later = try #require(try world.epochs().last?.snapshots.first)
        #expect(later.epoch > snapshot.epoch)
        #expect(try world.values(.snapshot).count < 8)
    }
}
