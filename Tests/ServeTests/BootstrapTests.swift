// The bootstrap file: states to start from, in two forms, and all that is refused.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPServer
import Runtime
import Serve
import Testing

@Suite final class BootstrapTests {
    private let folder: URL
    private var settings = ServeSettings()

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-bootstrap-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        settings.bootstrapPath = folder.appendingPathComponent("fleet.json").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func put(_ bytes: [UInt8]) throws {
        // Written aside and renamed, as an operator's tools do.
        try Data(bytes).write(
            to: URL(fileURLWithPath: settings.bootstrapPath ?? ""), options: .atomic)
    }

    /// What an edge answers about its fleet.
    private func fleet(
        _ states: [(String, ThrottleState)], revision: Int64 = 7, _ query: String = "",
        later milliseconds: Int64 = 0
    ) throws -> [UInt8] {
        let world = EdgeWorld()
        for (app, state) in states { try world.throttle(app, state, revision: revision) }
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        world.time.pass(milliseconds: milliseconds)
        return try world.get("/v1/apps" + query).bytes
    }

    /// An edge whose log is away.
    private func cutOff() throws -> (EdgeWorld, TroubledLog) {
        let world = EdgeWorld(settings: settings, log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .away }
        try world.edge.checkBootstrap()
        world.start()
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        return (world, log)
    }

    @Test func `what a fleet was answers for it until the log has been read`() throws {
        try put(fleet([("a", .halt), ("b", .normal), ("c", .throttle)], later: 4_000))
        let (world, log) = try cutOff()
        try world.waitUntilReady()
        #expect(try world.document("/readyz")["source"]?.text == "bootstrap")
        #expect(try world.state(of: "a") == "Halt rule")
        #expect(try world.state(of: "b") == "Normal rule")
        #expect(try world.document("/v1/apps/a")["revision"]?.integer == 7)
        // Made 4 s after the epoch, at a time that is still to come here.
        world.time.pass(milliseconds: 5_000)
        #expect(try world.document("/v1/apps/a")["age_ms"]?.integer == 5_000)
        #expect(try world.state(of: "new") == "Caution unknown_app")
        world.time.pass(milliseconds: 900_000)
        #expect(try world.state(of: "b") == "Caution expired")
        #expect(try world.state(of: "c") == "Throttle rule")
        // The log wins, whatever its revisions: the file may be of another one.
        try world.throttle("a", .caution, revision: 1)
        try world.epoch(2)
        log.mode.withLock { $0 = .well }
        try Wait.until { try world.document("/readyz")["source"]?.text == "log" }
        #expect(try world.state(of: "a") == "Caution rule")
        #expect(try world.state(of: "c") == "Caution unknown_app")
    }

    @Test func `a changed file is read again, and one that is no good is refused`() throws {
        try put(fleet([("a", .halt)]))
        let (world, _) = try cutOff()
        try world.waitUntilReady()
        try put(fleet([("a", .throttle)]))
        try Wait.until { try world.state(of: "a") == "Throttle rule" }
        try put(Array("{\"apps\":[]}".utf8))
        let refused = "adbrake_serve_bootstrap_refused_total"
        try Wait.until {
            world.sink.messages.contains("the bootstrap file is refused, what was known stays")
        }
        #expect(world.metric(refused) == 1)
        #expect(try world.state(of: "a") == "Throttle rule")
        // A file that is gone takes nothing with it.
        try FileManager.default.removeItem(atPath: settings.bootstrapPath ?? "")
        try put(fleet([("a", .caution)]))
        try Wait.until { try world.state(of: "a") == "Caution rule" }
        #expect(world.metric(refused) == 1)
    }

    @Test func `a backup is a bootstrap file, too, for any number of partitions of its own`() throws
    {
        var other = ServeSettings()
        other.backupPath = settings.bootstrapPath
        let writer = EdgeWorld(settings: other)
        try writer.throttle("a", .halt, revision: 3)
        try writer.epoch(1)
        writer.start()
        try writer.waitUntilReady()
        writer.stop.request(reason: "test")
        #expect(writer.waitForEnding() == "")
        let (world, _) = try cutOff()
        try world.waitUntilReady()
        #expect(try world.state(of: "a") == "Halt rule")
    }

    @Test func `a younger backup of the edge's own is not put aside for it`() throws {
        settings.backupPath = folder.appendingPathComponent("table").path
        try put(fleet([("a", .normal)]))
        let writer = EdgeWorld(settings: settings)
        writer.time.pass(milliseconds: 1_000)
        try writer.throttle("a", .halt, revision: 2)
        try writer.epoch(1)
        writer.start()
        try Wait.until { try writer.document("/readyz")["source"]?.text == "log" }
        writer.stop.request(reason: "test")
        #expect(writer.waitForEnding() == "")
        let (world, _) = try cutOff()
        try Wait.until {
            world.sink.messages.contains(
                "the bootstrap file is left aside, as there is something better")
        }
        #expect(try world.state(of: "a") == "Halt rule")
    }

    @Test func `what is no fleet, or a part of one, or too old, is refused with the reason`() throws
    {
        let good = String(
            decoding: try fleet([("a", .halt), ("b", .normal)]), as: UTF8.self)
        let bad: [(text: String, reason: String)] = [
            ("", "cut off"), ("{}", "no document of a fleet"), ("[]", "no document of a fleet"),
            (String(good.dropLast(3)), "cut off"),
            (good.replacing("\"Halt\"", with: "\"Emergency\""), "app 1 of it is bad: bad_field"),
            (good.replacing("\"app\":\"b\"", with: "\"app\":\"b b\""), "app 2 of it is bad"),
            (good.replacing("\"ready\":true", with: "\"ready\":false"), "was not ready"),
            (good.replacing("\"age_ms\":0,\"stale\"", with: "\"stale\""), "has no age"),
            (
                String(
                    decoding: try fleet([("a", .halt), ("b", .normal)], "?limit=1"),
                    as: UTF8.self), "part of a fleet"
            ),
            (
                String(
                    decoding: try fleet([("a", .halt), ("b", .normal)], "?state=Halt"),
                    as: UTF8.self), "part of a fleet: 1 apps of 2"
            ),
            (
                String(decoding: try fleet([("a", .normal)], later: 900_001), as: UTF8.self),
                "too old"
            ),
        ]
        for (text, reason) in bad {
            try put(Array(text.utf8))
            let world = EdgeWorld(settings: settings)
            let fault = #expect(throws: BackupFault.self) { try world.edge.checkBootstrap() }
            let words = fault?.description ?? ""
            #expect(words.contains(reason) && words.contains("Hint"), "\(words)")
        }
        try FileManager.default.removeItem(atPath: settings.bootstrapPath ?? "")
        let fault = #expect(throws: BackupFault.self) {
            try EdgeWorld(settings: settings).edge.checkBootstrap()
        }
        #expect(fault?.description.contains("no such file") == true)
    }
}
