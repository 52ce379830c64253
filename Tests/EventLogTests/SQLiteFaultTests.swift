// The SQLite log when its disk is full, its file is damaged or somebody else's, or readers hold it.
import EventLog
import Foundation
import LogTestSupport
import ProcessTestSupport
import Runtime
import Testing

@testable import SQLiteLog

@Suite("The SQLite log in trouble")
struct SQLiteFaultTests {
    @Test("says that the disk is full and goes on when it is not any more")
    func pageLimit() throws {
        try withDirectory { directory in
            var connection: Connection?
            let log = try SQLiteLog(
                path: directory + "/log.db", partitions: 2, clock: .wall, writeAhead: WriteAhead()
            ) { opened throws(LogFault) in
                connection = opened
                try opened.run("PRAGMA max_page_count = 100")
            }
            defer { log.close() }
            let worker = try log.makeAssignedWorker()
            defer { worker.close() }
            var appended = 0
            let value = String(repeating: "v", count: 50_000)
            let full = try fault {
                while true {
                    try log.append([.init(.session, 0, value), .init(.session, 1, value)])
                    appended += 1
                }
            }
            #expect(full.remedy == .retry)
            #expect(full.description.contains("free space"))
            let commit = try fault {
                _ = try worker.commit(
                    [.init(.throttle, 0, value), .init(.throttle, 1, value)],
                    positions: [TopicPartition(.session, 0): 1])
            }
            #expect(commit.remedy == .retry)
            #expect(try worker.committedPositions(partition: 0) == [:])
            #expect(try log.readAll(.session, 0).count == appended)
            try connection?.run("PRAGMA max_page_count = 100000")
            try log.append([.init(.session, 0, "more")])
            _ = try worker.commit(
                [.init(.throttle, 0, value), .init(.throttle, 1, value)],
                positions: [TopicPartition(.session, 0): 1])
            #expect(try log.readAll(.session, 0).count == appended + 1)
            #expect(try log.readAll(.session, 1).count == appended)
            #expect(try log.readAll(.throttle, 1).count == 1)
        }
    }

    @Test("outlives a file system that is really full", .enabled(if: SmallDisk.isPossible))
    func fullDisk() throws {
        try SmallDisk.with(megabytes: 4) { directory in
            let log = try SQLiteLog(path: directory + "/log.db", partitions: 1)
            defer { log.close() }
            let ballast = directory + "/ballast"
            try Data(count: 1_500_000).write(to: URL(fileURLWithPath: ballast))
            var appended = 0
            let value = String(repeating: "v", count: 50_000)
            let full = try fault {
                while true {
                    try log.append([.init(.session, 0, value)])
                    appended += 1
                }
            }
            #expect(full.remedy == .retry)
            #expect(full.hint != nil)
            #expect(appended > 0)
            try FileManager.default.removeItem(atPath: ballast)
            for _ in 0..<3 { try log.append([.init(.session, 0, value)]) }
            #expect(try log.readAll(.session, 0).count == appended + 3)
        }
    }

    @Test("refuses what is not a log, says why, and leaves it as it is", arguments: NotALog.all)
    func refuses(_ other: NotALog) throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            try other.make(path)
            let before = FileManager.default.contents(atPath: path)
            let refused = try fault { try SQLiteLog(path: path).close() }
            #expect(refused.remedy == .stop)
            #expect(refused.description.contains(other.saying), "\(refused)")
            #expect(refused.hint != nil)
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test("says that its directory is missing, and how to make it")
    func missingDirectory() throws {
        try withDirectory { directory in
            let missing = try fault { try SQLiteLog(path: directory + "/none/log.db").close() }
            #expect(missing.description.contains("mkdir -p \(directory)/none"))
        }
    }

    @Test("keeps its number of partitions and refuses another")
    func partitions() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            try SQLiteLog(path: path, partitions: 3).close()
            let log = try SQLiteLog(path: path)
            #expect(log.partitions == 3)
            log.close()
            let other = try fault { try SQLiteLog(path: path, partitions: 4).close() }
            #expect(other.description.contains("has 3 partitions, not 4"))
            #expect(try fault { try SQLiteLog(path: path, partitions: 0).close() }.remedy == .stop)
        }
    }

    @Test("never goes back in time, and refuses to open when the clock is far behind")
    func clockBehind() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let clock = SetClock()
            let log = try SQLiteLog(path: path, clock: clock.logClock)
            try log.append([.init(.control, 0, "policy")])
            log.close()
            let latest = clock.now
            clock.set(latest - SQLiteLog.clockBehindMaxMilliseconds)
            let again = try SQLiteLog(path: path, clock: clock.logClock)
            try again.append([.init(.control, 0, "override")])
            #expect(try again.readAll(.control, 0).map(\.append) == [latest, latest])
            again.close()
            clock.set(clock.now - 1)
            let behind = try fault { try SQLiteLog(path: path, clock: clock.logClock).close() }
            #expect(behind.description.contains("set the clock"))
        }
    }

    @Test("says that a page is damaged when it comes to read it")
    func damagedPage() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            var log = try SQLiteLog(path: path, partitions: 1)
            let value = String(repeating: "v", count: 5_000)
            for _ in 0..<10 { try log.append([.init(.crash, 0, "small")]) }
            for _ in 0..<200 { try log.append([.init(.session, 0, value)]) }
            log.close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            let end = try file.seekToEnd()
            for page in stride(from: UInt64(20 * Layout.pageBytes), to: end, by: Layout.pageBytes) {
                try file.seek(toOffset: page)
                try file.write(contentsOf: Data(repeating: 0xff, count: 64))
            }
            try file.close()
            log = try SQLiteLog(path: path)
            defer { log.close() }
            let reader = try log.makeReader(from: [
                TopicPartition(.crash, 0): 0, TopicPartition(.session, 0): 0,
            ])
            defer { reader.close() }
            let damaged = try fault { _ = try reader.poll(into: LogBatch(), waitMilliseconds: 0) }
            #expect(damaged.remedy == .stop)
            #expect(damaged.description.contains("damaged"))
            // Nobody looks at the batch of a poll that failed.
            #expect(Set(reader.positions.values) == [0])
        }
    }

    @Test("says that its file has been deleted under it")
    func deleted() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(path: path)
            defer { log.close() }
            try log.append([.init(.control, 0, "policy")])
            try FileManager.default.removeItem(atPath: path)
            let lost = try fault { try log.append([.init(.control, 0, "lost")]) }
            #expect(lost.remedy == .stop)
            #expect(lost.description.contains("moved or deleted"))
        }
    }

    @Test("has forgotten a key when its tombstone is gone")
    func forgotten() throws {
        try withDirectory { directory in
            let (clock, path) = (SetClock(), directory + "/log.db")
            let log = try SQLiteLog(path: path, clock: clock.logClock)
            defer { log.close() }
            try log.append((0..<100).map { .init(.throttle, $0 % 16, key: "app \($0)", "1") })
            try log.append((0..<100).map { .init(.throttle, $0 % 16, key: "app \($0)", nil) })
            clock.set(clock.now + TableRetention.tombstoneMilliseconds)
            while try log.maintain() {}
            let connection = try Connection(path: path, isCreating: false)
            defer { connection.close() }
            for table in ["record", "newest", "garbage"] {
                #expect(try connection.number("SELECT count(*) FROM \(table)") == 0)
            }
        }
    }

    @Test("bounds its write-ahead log when a reader never ends, and goes on when it does")
    func writeAheadLimit() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(
                path: path, partitions: 1, clock: .wall, writeAhead: WriteAhead(pagesMax: 2_000))
            defer { log.close() }
            try log.append([.init(.session, 0, "first")])
            let stuck = try Connection(path: path, isCreating: false)
            try stuck.run("BEGIN; SELECT count(*) FROM record")
            let value = String(repeating: "v", count: 500_000)
            let refused = try fault { while true { try log.append([.init(.session, 0, value)]) } }
            #expect(refused.remedy == .retry)
            #expect(refused.description.contains("one long transaction"))
            #expect(try fileSize(path + "-wal") < 3_000 * Layout.pageBytes)
            try stuck.run("COMMIT")
            stuck.close()
            try log.append([.init(.session, 0, "last")])
            #expect(try log.readAll(.session, 0).last?.value == "last")
            #expect(try fileSize(path + "-wal") < 100 * Layout.pageBytes)
        }
    }

    @Test("keeps its write-ahead log short beside a reader that is always reading")
    func writeAheadBesideReaders() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(path: path, partitions: 1)
            defer { log.close() }
            let count = 1_200
            let seen = Monitor(0)
            let thread = Thread {
                guard let reader = try? log.makeReader(from: [TopicPartition(.session, 0): 0])
                else { return }
                defer { reader.close() }
                let batch = LogBatch()
                while seen.withLock({ $0 }) < count {
                    guard (try? reader.poll(into: batch, waitMilliseconds: 100)) != nil else {
                        return
                    }
                    seen.withLock { $0 += batch.records.count }
                }
            }
            thread.start()
            let value = String(repeating: "v", count: 100_000)
            for _ in 0..<count { try log.append([.init(.session, 0, value)]) }
            let all = seen.wait(milliseconds: 60_000) { $0 == count ? true : nil }
            #expect(all == true)
            #expect(try fileSize(path + "-wal") < 2 * WriteAhead.pagesLong * Layout.pageBytes)
        }
    }

    @Test("deletes in bounded slices")
    func slices() throws {
        try withDirectory { directory in
            let clock = SetClock()
            let log = try SQLiteLog(
                path: directory + "/log.db", partitions: 2, clock: clock.logClock)
            defer { log.close() }
            try log.append((0..<5_000).map { .init(.session, $0 % 2, "v") })
            clock.set(clock.now + 25 * 3_600_000)
            #expect(try log.maintain())
            let left = try log.readAll(log.places(of: .session)).count
            #expect(left == 5_000 - Upkeep.sliceRows)
            #expect(try log.maintain())
            #expect(try !log.maintain())
            #expect(try log.readAll(log.places(of: .session)) == [])
        }
    }

    private func fileSize(_ path: String) throws -> Int {
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        return try #require(size)
    }
}

/// A file that the log must not touch.
struct NotALog: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let saying: String
    let make: @Sendable (_ path: String) throws -> Void

    static let all = [
        NotALog(testDescription: "a text file", saying: "not a log") { path in
            try Data(String(repeating: "hello\n", count: 1_000).utf8)
                .write(to: URL(fileURLWithPath: path))
        },
        NotALog(testDescription: "a database of something else", saying: "not an AdBrake log") {
            try sql($0, "CREATE TABLE person (name TEXT)")
        },
        NotALog(testDescription: "a database with another application id", saying: "not an AdBrake")
        {
            try sql($0, "PRAGMA application_id = 7")
        },
        NotALog(testDescription: "a log of a newer version", saying: "this build knows up to 1") {
            try SQLiteLog(path: $0).close()
            try sql($0, "PRAGMA user_version = 2")
        },
        NotALog(testDescription: "a log with a damaged header", saying: "damaged") { path in
            try SQLiteLog(path: path).close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.write(contentsOf: Data("SQLite formal 3".utf8))
            try file.close()
        },
        NotALog(testDescription: "a log cut short", saying: "damaged") { path in
            try SQLiteLog(path: path).close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: UInt64(3 * Layout.pageBytes))
            try file.close()
        },
        NotALog(testDescription: "a log whose table is gone", saying: "damaged") {
            try SQLiteLog(path: $0).close()
            try sql($0, "DROP TABLE newest")
        },
    ]

    private static func sql(_ path: String, _ text: String) throws {
        let connection = try Connection(path: path, isCreating: true)
        defer { connection.close() }
        try connection.run(text)
    }
}

/// A file system that is soon full: a small one in memory, which only root can mount.
enum SmallDisk {
    static var isPossible: Bool {
        if geteuid() == 0 { return true }
        print("SQLiteFaultTests.fullDisk is left out: only root can mount a small file system")
        return false
    }

    static func with(megabytes: Int, _ body: (String) throws -> Void) throws {
        try withDirectory { directory in
            let mount = try ChildProcess.run(
                ["mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", directory])
            guard mount.ending == .exited(0) else {
                print("SQLiteFaultTests.fullDisk is left out: mount \(mount.ending)")
                return
            }
            defer { _ = try? ChildProcess.run(["umount", directory]) }
            try body(directory)
        }
    }
}
