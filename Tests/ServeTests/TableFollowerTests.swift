// Following the log: backlogs, gaps, deletions, outages, bad records, and writers that come too
// late.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Runtime
import Serve
import Testing

@Suite struct TableFollowerTests {
    @Test func `an edge is ready at the end of the backlog, and answers Caution until then`()
        throws
    {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        for index in 0..<10_000 {
            try world.throttle("app-\(index % 500)", .normal, revision: Int64(index / 500 + 1))
        }
        log.mode.withLock { $0 = .held(after: 9_999) }
        world.start()
        try Wait.until {
            world.metric("adbrake_serve_records_total{topic=\"throttle\"}") == 9_999
        }
        #expect(try world.get("/readyz").status == 503)
        #expect(try world.state(of: "app-1") == "Caution not_ready")
        #expect(try world.document("/v1/apps")["ready"] == .bool(false))
        log.mode.withLock { $0 = .well }
        try world.waitUntilReady()
        #expect(try world.state(of: "app-1") == "Normal rule")
        #expect(try world.document("/v1/apps/app-1")["revision"]?.integer == 20)
    }

    @Test func `gaps, markers and deletions at the end do not stall the start`() throws {
        let world = EdgeWorld(partitions: 1)
        for revision in 1...50 {
            try world.throttle("kept", .halt, revision: Int64(revision))
            try world.throttle("gone", .halt, revision: Int64(revision))
        }
        try world.tombstone("gone")
        _ = world.memory.maintain()
        world.start()
        try world.waitUntilReady()
        #expect(try world.state(of: "kept") == "Halt rule")
        #expect(try world.state(of: "gone") == "Caution unknown_app")
        try world.tombstone("kept")
        try Wait.until { try world.state(of: "kept") == "Caution unknown_app" }
        // An app that comes back begins anew.
        try world.throttle("kept", .throttle, revision: 1)
        try Wait.until { try world.state(of: "kept") == "Throttle rule" }
    }

    @Test func `an empty log is a complete table`() throws {
        let world = EdgeWorld()
        world.start()
        try world.waitUntilReady()
        #expect(try world.state(of: "shop") == "Caution unknown_app")
    }

    @Test func `an older revision never replaces a newer one, and is counted`() throws {
        let world = EdgeWorld()
        world.start()
        try world.waitUntilReady()
        try world.throttle("shop", .halt, revision: 42, epoch: 42)
        try Wait.until { try world.state(of: "shop") == "Halt rule" }
        try world.throttle("shop", .normal, revision: 41, epoch: 41)
        try world.throttle("shop", .caution, revision: 42, epoch: 41)
        let older = "adbrake_serve_older_total{topic=\"throttle\"}"
        try Wait.until { world.metric(older) == 2 }
        #expect(try world.state(of: "shop") == "Halt rule")
        try world.throttle("shop", .throttle, revision: 43, epoch: 43)
        try Wait.until { try world.state(of: "shop") == "Throttle rule" }
    }

    @Test func `an epoch of a zombie does not make the table look fresh`() throws {
        let world = EdgeWorld(partitions: 1)
        world.start()
        try world.waitUntilReady()
        try world.epoch(42, generation: 7)
        try Wait.until { world.metric("adbrake_serve_records_total{topic=\"epoch\"}") == 1 }
        world.time.pass(milliseconds: 60_000)
        try world.epoch(41, generation: 6)
        try Wait.until { world.metric("adbrake_serve_older_total{topic=\"epoch\"}") == 1 }
        #expect(try world.document("/v1/apps/shop")["age_ms"]?.integer == 60_000)
        // An evaluator that begins its count anew does so in a later generation.
        try world.epoch(1, generation: 8)
        try Wait.until { try world.document("/v1/apps/shop")["age_ms"]?.integer == 0 }
    }

    @Test func `bad records are counted and change nothing`() throws {
        let world = EdgeWorld()
        world.start()
        try world.waitUntilReady()
        try world.throttle("shop", .halt, revision: 1)
        let good = world.throttleRecord("shop", .normal, revision: 2).encode()
        let text = String(decoding: good, as: UTF8.self)
        let bad: [(app: String, value: [UInt8], reason: String)] = [
            ("shop", Array("{".utf8), "bad_json"),
            ("shop", [], "empty"),
            ("shop", [0xff, 0xfe], "bad_json"),
            ("shop", Array("[1]".utf8), "not_an_object"),
            ("shop", Array(text.replacing("\"v\":1", with: "\"v\":2").utf8), "unknown_version"),
            ("shop", Array(text.replacing("Normal", with: "Emergency").utf8), "bad_field"),
            ("shop", Array(text.replacing("shop", with: "other").utf8), "wrong_app"),
            ("not an app", good, "bad_app"),
        ]
        for record in bad { try world.append(.throttle, app: record.app, record.value) }
        let elsewhere = (world.partition(of: "shop") + 1) % world.memory.partitions
        try world.memory.append([
            OutgoingRecord(
                .throttle, partition: elsewhere, key: Array("shop".utf8), value: good)
        ])
        for reason in Set(bad.map(\.reason) + ["wrong_partition"]) {
            let count = bad.filter { $0.reason == reason }.count
            let series =
                "adbrake_serve_rejected_total{topic=\"throttle\",reason=\"\(reason)\"}"
            try Wait.until { world.metric(series) == max(1, count) }
        }
        try world.memory.append([
            OutgoingRecord(.epoch, partition: 0, key: nil, value: Array("{}".utf8)),
            OutgoingRecord(.notice, partition: 0, key: nil, value: nil),
        ])
        let epochs = "adbrake_serve_rejected_total{topic=\"epoch\",reason=\"unknown_version\"}"
        try Wait.until { world.metric(epochs) == 1 }
        #expect(try world.state(of: "shop") == "Halt rule")
        try world.throttle("shop", .caution, revision: 2)
        try Wait.until { try world.state(of: "shop") == "Caution rule" }
    }

    @Test func `a log out of reach leaves the last known states, marked stale`() throws {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        try world.throttle("shop", .throttle, revision: 5)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        log.mode.withLock { $0 = .away }
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 1 }
        world.time.pass(milliseconds: 3_600_000)
        let response = try world.get("/v1/apps/shop")
        #expect(response.status == 200)
        let document = try world.document("/v1/apps/shop")
        #expect(document["state"]?.text == "Throttle")
        #expect(document["stale"] == .bool(true))
        #expect(document["age_ms"]?.integer == 3_600_000)
        #expect(try world.get("/readyz").status == 200)
        log.mode.withLock { $0 = .well }
        try world.epoch(2)
        try Wait.until { try world.document("/v1/apps/shop")["stale"] == .bool(false) }
        // Told at its beginning and its end, not at each try.
        let told = world.sink.messages.filter { $0.contains("answer") }
        #expect(
            told == [
                "the log does not answer, serving what is known", "the log answers again",
            ])
    }

    @Test func `a log that has forgotten what was not read is read anew from its beginning`()
        throws
    {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        try world.throttle("shop", .halt, revision: 5)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        log.mode.withLock { $0 = .away }
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        for number in 2...20 { try world.epoch(Int64(number)) }
        world.time.pass(milliseconds: 72 * 3_600_000)
        try world.epoch(21)
        _ = world.memory.maintain()
        let epochs = world.memory.bounds(of: TopicPartition(.epoch, 0))
        #expect(epochs.lowerBound > 2)
        log.mode.withLock { $0 = .well }
        try Wait.until { world.metric("adbrake_serve_restarts_total") == 1 }
        #expect(try world.get("/readyz").status == 200)
        try Wait.until { try world.document("/v1/apps/shop")["age_ms"]?.integer == 0 }
        #expect(try world.state(of: "shop") == "Halt rule")
    }

    @Test func `a fault that no retry helps against ends the service after a few starts`() throws {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .broken }
        world.start()
        #expect(world.waitForEnding()?.contains("broken") == true)
    }

    @Test func `the service ends when asked, also while the log is away`() throws {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .away }
        world.start()
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        world.stop.request(reason: "test")
        #expect(world.waitForEnding() == "")
    }

    @Test func `the last epoch is found behind any number of records that are none`() throws {
        let world = EdgeWorld(partitions: 1)
        try world.epoch(9)
        for _ in 0..<2_000 {
            try world.memory.append([
                OutgoingRecord(.epoch, partition: 0, key: nil, value: Array("{}".utf8))
            ])
        }
        world.time.pass(milliseconds: 5_000)
        world.start()
        try world.waitUntilReady()
        #expect(try world.document("/v1/apps/shop")["age_ms"]?.integer == 5_000)
    }
}
