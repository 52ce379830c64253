// Decisions of people through lanes: in force from an epoch's beginning, in every partition, over
// restarts and in replays.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Simulation
import Testing

@Suite("What people decide")
struct ControlTests {
    private func halt(until seconds: Int64? = nil) -> OverrideTerms {
        OverrideTerms(
            mode: .pin, state: .halt,
            expiresAt: seconds.map { LaneWorld.beginning + $0 * 1_000 })
    }

    @Test("holds the published state, and when it ends the computed one is published")
    func pin() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.start("a", 0..<20)
        try world.run(lane, for: 5_000)
        try world.control(.override(AppID("a"), halt(until: 30)))
        try world.run(lane, for: 10_000)
        // Computed beneath: 5 of 40 sessions crash, which the brisk policy answers with Throttle.
        try world.start("a", 20..<40)
        try world.crash("a", 20..<25)
        try world.run(lane, for: 30_000)
        let records = try world.throttle().map(\.change)
        #expect(try world.story("a") == ["1 Normal 1", "2 Halt 5", "3 Throttle 30"])
        #expect(records.map(\.cause) == [.initial, .override, .override])
        let held = try #require(records[1].override)
        #expect((held.by, held.reason, held.number) == ("anna", "a test", 0))
        #expect(records[1].computed == .normal)
        #expect(records[2].override == nil)
        #expect(
            try world.notices().map { "\($0.kind.name) \($0.app?.text ?? "*")" }
                == ["override_expired a"])
        try world.checkReplay()
    }

    @Test("is read to its end before anything is counted, however slowly it comes")
    func readFirst() throws {
        let world = LaneWorld()
        world.log.steer { $0.pieceBytes = 300 }
        for number in 0..<60 {
            let caps = FrequencyCaps(perHour: 1, perDay: 1 + number)
            try world.control(.cap(CapPlace(app: AppID("app-\(number)")), caps))
        }
        try world.control(.override(AppID("a"), halt()))
        try world.start("a", 0..<20)
        let lane = world.makeLane()
        try world.run(lane, for: 5_000)
        #expect(try world.epochs().allSatisfy { $0.offsets.control == 61 })
        #expect(try world.story("a") == ["1 Halt 1"])
        try world.checkReplay()
    }

    @Test("holds from the same second in a replay, in a log without any record", arguments: 0..<6)
    func beforeTheClock(moment: Int) throws {
        let world = LaneWorld()
        world.settings.heartbeatMilliseconds = 10_000
        try world.control(.override(AppID("a"), halt()))
        world.time.pass(Int64(moment) * 170)
        let lane = world.makeLane()
        try world.run(lane, for: 4_000)
        try lane.leave()
        #expect(try world.story("a").count == 1)
        try world.checkReplay()
    }

    @Test("is told when it holds an app looser than the rules call for")
    func overruled() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.control(
            .override(nil, OverrideTerms(mode: .atMost, state: .caution, expiresAt: nil)))
        try world.start("a", 0..<20)
        try world.crash("a", 0..<5)
        try world.run(lane, for: 5_000)
        #expect(try world.story("a") == ["1 Caution 1"])
        let notice = try #require(try world.notices().first)
        #expect(notice.kind == .overruled)
        #expect(notice.text.contains("call for Throttle"))
        #expect(notice.text.contains("anna"))
        try world.checkReplay()
    }

    @Test("outlives restarts with the state it holds, at whatever moment", arguments: 0..<12)
    func restart(moment: Int) throws {
        let world = LaneWorld(partitions: 2)
        world.settings.snapshotMilliseconds = 3_000
        var lane = world.makeLane()
        try world.start("a", 0..<20)
        try world.start("b", 0..<20)
        try world.run(lane, for: 2_000)
        try world.control(.override(nil, halt(until: 20)))
        try world.control(
            .override(
                AppID("b"),
                OverrideTerms(mode: .atLeast, state: .caution, expiresAt: nil)))
        try world.run(lane, for: Int64(moment) * 700)
        // As after kill -9: nothing is committed any more.
        lane.close()
        lane = world.makeLane()
        try world.run(lane, for: 30_000)
        #expect(try world.story("a") == ["1 Normal 1", "2 Halt 2", "3 Normal 20"])
        #expect(try world.story("b") == ["1 Normal 1", "2 Caution 2"])
        // Once, by one partition for all.
        #expect(try world.notices().map(\.kind) == [.overrideExpired])
        try world.checkReplay()
        for partition in 0..<2 {
            #expect(try world.epochs(partition).last?.offsets.control == 2)
        }
    }

    @Test("that was over before it was read is told, and changes nothing")
    func late() throws {
        let world = LaneWorld()
        try world.control(.override(nil, halt(until: -5)))
        let lane = world.makeLane()
        try world.start("a", 0..<20)
        try world.run(lane, for: 5_000)
        #expect(try world.story("a") == ["1 Normal 1"])
        #expect(try world.notices().map(\.kind) == [.overrideExpired])
        try world.control(.override(nil, halt(until: 1)))
        try world.run(lane, for: 3_000)
        #expect(try world.story("a") == ["1 Normal 1"])
        #expect(try world.notices().map(\.kind) == [.overrideExpired, .overrideExpired])
        try world.checkReplay()
    }

    @Test("makes an app known that nobody has heard of, in its own partition")
    func unknown() throws {
        let world = LaneWorld(partitions: 4)
        let lane = world.makeLane()
        try world.run(lane, for: 1_000)
        try world.control(.override(AppID("new.app"), halt(until: 10)))
        try world.run(lane, for: 15_000)
        let home = Partitioner.partition(of: "new.app".utf8, partitions: 4)
        for partition in 0..<4 {
            let states = try world.throttle(partition).map(\.change.state)
            #expect(states == (partition == home ? [.halt, .normal] : []))
        }
        try world.checkReplay()
    }

    @Test("that is taken back before an epoch has told of it is in a replay all the same")
    func takenBack() throws {
        let world = LaneWorld()
        world.settings.controlMilliseconds = 0
        let lane = world.makeLane()
        try world.run(lane, for: 1_600)
        try world.control(.override(AppID("new.app"), halt()))
        // Time stands still, so no epoch is due.
        try lane.step(waitMilliseconds: 0)
        try world.control(.override(AppID("new.app"), nil))
        try lane.step(waitMilliseconds: 0)
        try world.run(lane, for: 10_000)
        #expect(try world.story("new.app").count == 1)
        try world.checkReplay()
    }

    @Test("that is taken back while its partition is away is in a replay all the same")
    func takenBackAway() throws {
        let world = LaneWorld()
        world.settings.controlMilliseconds = 0
        let lane = world.makeLane()
        try world.run(lane, for: 1_600)
        try world.control(.override(AppID("new.app"), halt()))
        try world.run(lane, for: 100)
        world.memory.rebalance([:])
        try world.settle(lane)
        try world.control(.override(AppID("new.app"), nil))
        world.memory.rebalance([0: [0]])
        try world.settle(lane)
        try world.run(lane, for: 10_000)
        #expect(try world.story("new.app").count == 1)
        try world.checkReplay()
    }

    @Test("gives apps policies of their own, at once and in one lane")
    func policies() throws {
        let world = LaneWorld(partitions: 2)
        let lane = world.makeLane()
        let document =
            #"{"name":"deaf","version":3,"initial":"Caution","initial_hold_s":3600,"#
            + #""tick_ms":5000,"levels":{"Caution":{"dwell_s":3600}},"rules":[{"name":"never","#
            + #""state":"Halt","window_s":60,"#
            + #""crashes_at_least":1000}]}"#
        let deaf = try StoredPolicy(DocumentReader().read(Array(document.utf8)) ?? .null)
        try world.control(.policy(name: "deaf", deaf))
        try world.control(.assignment(#require(AppPattern("game.*")), policy: "deaf"))
        try world.run(lane, for: 1_000)
        for app in ["game.a", "game.b", "news.a"] {
            try world.start(app, 0..<20)
            try world.crash(app, 0..<5)
        }
        try world.run(lane, for: 11_000)
        for app in ["game.a", "game.b"] {
            #expect(try world.story(app) == ["1 Caution 5"])
        }
        #expect(try world.story("news.a") == ["1 Throttle 2"])
        // Back to the policy of all: from the next epoch on, and its rules see the same counts.
        try world.control(.assignment(#require(AppPattern("game.*")), policy: nil))
        try world.run(lane, for: 3_000)
        #expect(try world.story("game.a") == ["1 Caution 5", "2 Throttle 12"])
        try world.checkReplay()
        let policies = try world.epochs().map { $0.policies.map(\.name) }
        #expect(policies.contains(["brisk", "deaf"]))
        #expect(policies.last == ["brisk"])
    }

    @Test("that cannot be read is counted and told, and the rest holds")
    func poison() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.start("a", 0..<20)
        try world.append(control: Array(#"{"v":1,"type":"override","app":"*","mode":"pin"}"#.utf8))
        try world.append(control: nil)
        try world.control(.override(nil, halt()))
        try world.run(lane, for: 3_000)
        #expect(try world.throttle().last?.change.state == .halt)
        let notices = try world.notices()
        #expect(notices.map(\.kind) == [.policyRejected, .policyRejected])
        #expect(notices.first?.text.contains("state: missing") == true)
        try world.checkReplay()
    }

    @Test("holds when windows must be filled from the inputs alone")
    func recount() throws {
        let world = LaneWorld()
        var lane = world.makeLane()
        try world.start("a", 0..<20)
        try world.control(.override(nil, halt(until: 40)))
        try world.run(lane, for: 5_000)
        lane.close()
        // Another policy of the same name: its epochs are not repeated, states are as published.
        world.settings.policy.version = 2
        lane = world.makeLane()
        try world.run(lane, for: 10_000)
        #expect(try world.story("a").last?.contains("Halt") == true)
        let revision = try world.throttle().last?.change.revision
        try world.run(lane, for: 40_000)
        #expect(try world.throttle().last?.change.revision == (revision ?? 0) + 1)
        #expect(try world.throttle().last?.change.state == .normal)
    }
}

extension LaneWorld {
    func control(_ content: ControlRecord.Content) throws {
        let record = ControlRecord(content, by: "anna", at: time.wall, reason: "a test")
        try append(control: record.encode())
    }

    func append(control value: [UInt8]?) throws {
        try memory.append([OutgoingRecord(.control, partition: 0, key: nil, value: value)])
    }

    func notices() throws -> [Notice] {
        let reader = DocumentReader()
        return try values(.notice).map { _, value in
            try unsafe value.withUnsafeBytes { unsafe try Notice.decode($0, with: reader) }
        }
    }
}
