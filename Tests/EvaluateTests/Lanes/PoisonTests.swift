// Records that nobody can use: each is set aside once, with its reason, and blocks nothing.
import BrakeModel
import Evaluate
import EventLog
import Runtime
import Simulation
import Testing

@Suite("A lane's poison")
struct PoisonTests {
    struct Poison: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let key: [UInt8]?
        let value: [UInt8]?
        let reason: String

        init(
            _ title: String, key: [UInt8]? = Array("app".utf8), _ value: [UInt8]?, _ reason: String
        ) {
            testDescription = title
            self.key = key
            self.value = value
            self.reason = reason
        }
    }

    private static let good = Array(#"{"type":"crash","app":"app","id":"1"}"#.utf8)

    static let all = [
        Poison("bytes that are no JSON", [0, 1, 2, 0xff, 0x7b], "bad_json"),
        Poison("half a record", Array(good.prefix(20)), "bad_json"),
        Poison("an empty value", [], "empty"),
        Poison("no value", nil, "empty"),
        Poison("no key", key: nil, good, "wrong_app"),
        Poison("another app's key", key: Array("other".utf8), good, "wrong_app"),
        Poison(
            "an app's name that is no UTF-8",
            Array(#"{"type":"crash","app":""#.utf8) + [0xc3, 0x28] + Array(#""}"#.utf8),
            "bad_json"),
        Poison(
            "300 kB", Array((#"{"type":"crash","app":"app","x":""# + text(300_000) + #""}"#).utf8),
            "too_large"),
        Poison("another type", Array(#"{"type":"session","app":"app"}"#.utf8), "wrong_type"),
        Poison(
            "a nest of arrays", Array((text(20_000, "[") + text(20_000, "]")).utf8), "bad_json"),
    ]

    private static func text(_ count: Int, _ letter: String = "x") -> String {
        String(repeating: letter, count: count)
    }

    @Test("is set aside once, and what follows is counted", arguments: all)
    func setAside(poison: Poison) throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.start("app", 0..<10)
        try world.append(.crash, key: poison.key, value: poison.value, partition: 0)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 3_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        let dead = try world.dead()
        #expect(dead.count == 1)
        #expect(dead.first?.contains(#""reason":"\#(poison.reason)""#) ?? false, "\(dead)")
        #expect(dead.first?.contains(#""topic":"crash","partition":0,"offset":0"#) ?? false)
        // A lane that begins again reads it again, if at all, to count only.
        let next = world.makeLane()
        try world.run(next, for: 3_000)
        #expect(try world.dead().count == 1)
        let line = #"adbrake_evaluate_rejected_total{reason="\#(poison.reason)"} 1"#
        #expect(world.metrics.rendered().contains(line))
        try world.checkReplay()
    }

    @Test("that was read but not counted goes with the epoch that counts what follows it")
    func uncounted() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        world.log.steer { $0.stalled = [TopicPartition(.session, 0)] }
        world.time.pass(1_000)
        try world.append(.crash, app: "app", ["{}"])
        try world.run(lane, for: 10_000)
        #expect(try world.dead().isEmpty)
        let next = world.makeLane()
        try world.run(next, for: 10_000)
        #expect(try world.dead().isEmpty)
        world.log.steer { $0.stalled = [] }
        try world.run(next, for: 1_000)
        #expect(try world.dead().count == 1)
        try world.checkReplay()
    }

    @Test("in any amount is counted, though not all of it is kept")
    func flood() throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        for _ in 0..<3_000 { try world.append(.crash, app: "app", ["{}"]) }
        try world.start("app", 0..<10)
        try world.crash("app", 0..<3)
        try world.run(lane, for: 3_000)
        #expect(try world.story("app") == ["1 Throttle 1"])
        let dead = try world.dead().count
        #expect((1_000...3_000).contains(dead))
        #expect(
            world.metrics.rendered().contains(
                #"adbrake_evaluate_rejected_total{reason="unknown_type"} 3000"#))
        try world.checkReplay()
    }
}
