// A lane that begins under another policy, or with other limits, than those that the epochs of its
// partitions were decided by.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import LogTestSupport
import Runtime
import Simulation
import Testing

@Suite("A lane under another policy")
struct PolicyChangeTests {
    /// An app that was throttled at 1 s, and a lane that has died at 12 s.
    private func world(snapshots: Int64) throws -> LaneWorld {
        let world = LaneWorld()
        world.settings.snapshotMilliseconds = snapshots
        let lane = world.makeLane()
        try world.settle(lane)
        for second in 0..<12 {
            try world.start("other-\(second)", 0..<5)
            if second == 3 {
                try world.start("app", 0..<10)
                try world.crash("app", 0..<3)
            }
            try world.run(lane, for: 1_000)
        }
        #expect(try world.story("app") == ["1 Throttle 4"])
        return world
    }

    private var stricter: Policy {
        var policy = Policy.brisk
        policy.version = 2
        policy.rules[0].state = .halt
        policy.halt.dwellSeconds = 5
        return policy
    }

    @Test(
        "keeps states and counts, and decides by the new one from then on",
        arguments: [1_000, 5_000, 100_000_000], [true, false])
    func restart(snapshots: Int64, isClean: Bool) throws {
        let world = try world(snapshots: snapshots)
        if isClean {
            let lane = world.makeLane()
            try world.settle(lane)
            try lane.leave()
            lane.close()
        }
        let before = try world.epochs().count
        world.settings.policy = stricter
        let lane = world.makeLane()
        try world.run(lane, for: 20_000)
        // The crashes of 3 s are still in the minute: by the new rule they mean Halt.
        let halted = try #require(try world.throttle().last { $0.change.app.text == "app" })
        #expect(halted.change.state == .halt)
        #expect(halted.change.revision == 2)
        #expect(halted.change.why.windows[0].crashes == 3)
        let next = world.makeLane()
        try world.run(next, for: 100_000)
        #expect(
            try world.story("app").suffix(3).map { $0.split(separator: " ")[1] }
                == ["Throttle", "Caution", "Normal"])
        let epochs = try world.epochs()
        #expect(epochs.map(\.number) == Array(1...Int64(epochs.count)))
        #expect(epochs[before...].allSatisfy { $0.policies.first?.version == 2 })
    }

    @Test("keeps what was published after the last snapshot")
    func published() throws {
        let world = try world(snapshots: 100_000_000)
        let quiet = Policy.brisk
        world.settings.policy = quiet
        world.settings.policy.version = 7
        let lane = world.makeLane()
        try world.run(lane, for: 100_000)
        // Its revisions go on, and it eases by rules that look at the minute, as it would have.
        #expect(try world.story("app") == ["1 Throttle 4", "2 Caution 84", "3 Normal 95"])
    }

    @Test("or with room for more apps goes on from the same log", arguments: [1, 100])
    func limits(appsMax: Int) throws {
        let world = LaneWorld()
        world.settings.limits.appsMax = 2
        world.settings.snapshotMilliseconds = 100_000_000
        let lane = world.makeLane()
        try world.settle(lane)
        for second in 0..<5 {
            for app in ["a", "b", "c"] { try world.start(app, second * 5..<second * 5 + 5) }
            try world.run(lane, for: 1_000)
        }
        try world.crash("a", 0..<20)
        try world.run(lane, for: 3_000)
        #expect(try world.story("a") == ["1 Normal 1", "2 Throttle 6"])
        world.settings.limits.appsMax = max(2, appsMax)
        let next = world.makeLane()
        try world.run(next, for: 5_000)
        try world.start("c", 100..<110)
        try world.run(next, for: 5_000)
        #expect(try world.story("c").count == (appsMax > 2 ? 1 : 0))
        #expect(try world.story("a") == ["1 Normal 1", "2 Throttle 6"])
    }
}
