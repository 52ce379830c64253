// The backup: a start while the log is away, and files that are damaged in every way.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPServer
import Runtime
import Serve
import Testing

@Suite final class BackupTests {
    private let folder: URL
    private var settings = ServeSettings()

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-backup-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        settings.backupPath = folder.appendingPathComponent("table").path
        settings.backupMilliseconds = 1
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private var path: String { settings.backupPath ?? "" }

    private func file() -> [UInt8] {
        FileManager.default.contents(atPath: path).map(Array.init) ?? []
    }

    private func put(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// A file as an edge leaves it.
    private func makeBackup(_ states: [(String, ThrottleState)]) throws {
        let world = EdgeWorld(settings: settings)
        for (app, state) in states { try world.throttle(app, state, revision: 5, epoch: 9) }
        try world.epoch(9)
        world.start()
        try world.waitUntilReady()
        world.stop.request(reason: "test")
        #expect(world.waitForEnding() == "")
    }

    /// An edge whose log is away.
    private func cutOff() throws -> EdgeWorld {
        let world = EdgeWorld(settings: settings, log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .away }
        world.start()
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        return world
    }

    /// With ADBRAKE_WRITE_GOLDEN a missing file is written, as when the format has got a version.
    @Test func `a backup that an edge of version 1 has left is read`() throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Golden/backup-1.table")
        if ProcessInfo.processInfo.environment["ADBRAKE_WRITE_GOLDEN"] != nil,
            !FileManager.default.fileExists(atPath: golden.path())
        {
            try makeBackup([("a", .halt), ("b", .normal)])
            try Data(file()).write(to: golden)
        }
        try put([UInt8](Data(contentsOf: golden)))
        let world = try cutOff()
        #expect(try world.state(of: "a") == "Halt rule")
        world.stop.request(reason: "test")
        #expect(world.waitForEnding() == "")
    }

    @Test func `an edge without its log keeps to the caps of the backup`() throws {
        let first = EdgeWorld(settings: settings)
        try first.cap("a", "DE", 1, 2)
        try first.cap(nil, nil, 20, 40)
        try first.stress("b", all: 2, [])
        try first.epoch(1)
        try first.throttle("a", .normal, revision: 1)
        first.start()
        try first.waitUntilReady()
        first.stop.request(reason: "test")
        #expect(first.waitForEnding() == "")
        let world = try cutOff()
        for (app, hour) in [("a", Int64(1)), ("b", 10), ("c", 20)] {
            let answer = try world.document(
                "/api/ad/freq-cap?app=\(app)", [("CF-IPCountry", "DE")])
            #expect(answer["capPerHour"]?.integer == hour)
        }
    }

    @Test func `an edge without its log serves from the backup, with the backup's age`() throws {
        try makeBackup([("a", .halt), ("b", .normal)])
        let world = try cutOff()
        #expect(try world.get("/readyz").status == 200)
        #expect(try world.state(of: "a") == "Halt rule")
        #expect(try world.state(of: "b") == "Normal rule")
        #expect(try world.document("/v1/apps/a")["age_ms"]?.integer == 0)
        world.time.pass(milliseconds: 900_001)
        #expect(try world.state(of: "a") == "Halt rule")
        #expect(try world.state(of: "b") == "Caution expired")
        #expect(try world.document("/v1/changes")["changes"]?.array?.count == 2)
    }

    @Test func `the log's table replaces the backup's once it has been read`() throws {
        try makeBackup([("a", .halt), ("gone", .halt)])
        let world = try cutOff()
        for _ in 0..<3 { try world.throttle("a", .throttle, revision: 6) }
        for place in 0..<4 {
            for _ in 0..<9 { try world.epoch(10, in: place) }
        }
        for app in ["x", "y", "z", "w", "v", "u", "gone"] {
            for revision in 1...9 { try world.throttle(app, .normal, revision: Int64(revision)) }
        }
        try world.tombstone("gone")
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .well }
        try Wait.until { try world.state(of: "a") == "Throttle rule" }
        #expect(try world.state(of: "gone") == "Caution unknown_app")
        #expect(try world.document("/readyz")["source"]?.text == "log")
    }

    @Test func `a backup of a log that has been replaced does not win over the new one`() throws {
        try makeBackup((0..<50).map { ("app-\($0)", .halt) })
        let world = EdgeWorld(settings: settings)
        try world.throttle("app-1", .normal, revision: 1)
        try world.epoch(1)
        world.start()
        try Wait.until { try world.document("/readyz")["source"]?.text == "log" }
        #expect(try world.state(of: "app-1") == "Normal rule")
        #expect(try world.state(of: "app-2") == "Caution unknown_app")
        #expect(
            world.sink.messages.contains("the log is another one, its states replace all others"))
    }

    @Test func `a backup with one bit turned or cut anywhere is ignored, and that is said`() throws
    {
        try makeBackup([("a", .halt)])
        let good = file()
        #expect(good.count > 200)
        var damaged = [[], Array(good.dropLast()), Array(good.prefix(good.count / 2)), [0xff, 10]]
        damaged += [Array("{}\n{}\n".utf8), Array("\n\n\n".utf8)]
        for index in stride(from: 0, to: good.count, by: 41) {
            var turned = good
            turned[index] ^= 1
            damaged.append(turned)
        }
        for bytes in damaged {
            try put(bytes)
            let world = try cutOff()
            #expect(try world.get("/readyz").status == 503)
            #expect(world.sink.messages.contains("the backup is ignored"))
        }
        try put(good)
        #expect(try cutOff().get("/readyz").status == 200)
    }

    @Test func `a backup of another number of partitions is ignored`() throws {
        try makeBackup([("a", .halt)])
        let world = EdgeWorld(partitions: 8, settings: settings, log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .away }
        world.start()
        try Wait.until { world.sink.messages.contains("the backup is ignored") }
        #expect(try world.get("/readyz").status == 503)
    }

    @Test func `a backup that cannot be written harms nothing, and is said once`() throws {
        settings.backupPath = folder.appendingPathComponent("none/table").path
        let world = EdgeWorld(settings: settings)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        try Wait.until { world.sink.messages.contains("no backup was written") }
        try world.epoch(2)
        world.stop.request(reason: "test")
        #expect(world.waitForEnding() == "")
        #expect(world.sink.messages.count { $0 == "no backup was written" } == 1)
    }
}
