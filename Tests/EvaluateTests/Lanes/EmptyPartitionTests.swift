// Partitions without an app: most of those that a developer with a few apps has.
import BrakeWire
import Evaluate
import EventLog
import Runtime
import Testing

@Suite("A partition without an app")
struct EmptyPartitionTests {
    @Test("comes back without counting days of heartbeats again", arguments: [false, true])
    func comesBack(isKilled: Bool) throws {
        let world = LaneWorld()
        let lane = world.makeLane()
        try world.settle(lane)
        try world.run(lane, for: 5 * 3_600_000, piece: 1_000)
        let epochs = try world.epochs().count
        #expect(epochs > 5 * 3_600 / 2 - 100)
        if !isKilled { try lane.leave() }
        lane.close()
        let next = world.makeLane()
        try world.settle(next)
        let line = try #require(world.told.lines.last { $0.message == "partitions restored" })
        guard case .integer(let again)? = line.metadata["epochs_counted_again"] else {
            Issue.record("the line tells how many")
            return
        }
        // Heartbeats of an hour, or none after a clean stop.
        #expect(again < (isKilled ? 3_600 / 2 + 100 : 2))
        try world.checkReplay()
    }
}
