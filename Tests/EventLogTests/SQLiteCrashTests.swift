// The SQLite log beside other processes, and after they have been killed.
import BrakeModel
import EventLog
import Foundation
import LogTestSupport
import ProcessTestSupport
import SQLiteLog
import Testing

/// A child process, and the lines that it has said.
final class TortureChild {
    private let process: ChildProcess
    private var rest: [UInt8] = []

    init(_ arguments: [String]) throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent()
            .appendingPathComponent("LogTortureChild").path
        process = try ChildProcess([program] + arguments, errors: .tests)
    }

    /// The next line, nil at the end.
    func nextLine() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest = Array(rest[(end + 1)...])
                return line
            }
            let more = process.read()
            if more.isEmpty { return nil }
            rest += more
        }
    }

    func kill() { process.signal(SIGKILL) }

    func wait() -> ChildProcess.Ending { process.wait() }
}

@Suite("The SQLite log and other processes")
struct SQLiteCrashTests {
    /// Kills a process that appends and commits, again and again on one file, and holds what the
    /// log then has against what the process had been told.
    @Test("keeps what was acknowledged, once, and epochs whole, wherever its process is killed")
    func killed() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("SQLiteCrashTests.killed seed \(seed)")
        var random = SeededGenerator(seed: seed)
        try withDirectory { directory in
            let path = directory + "/log.db"
            var acknowledged: [String] = []
            var committed: [String] = []
            for run in 0..<25 {
                let child = try TortureChild(["write", path, "\(run)"])
                var remaining = 1 + random.next(below: 120)
                while let line = child.nextLine() {
                    let words = line.split(separator: " ").map(String.init)
                    if words[0] == "a" { acknowledged += words.dropFirst() }
                    if words[0] == "c" { committed += words.dropFirst() }
                    remaining -= 1
                    if remaining == 0 { child.kill() }
                }
                #expect(child.wait() == .killed(SIGKILL))
                let log = try SQLiteLog(path: path, partitions: 16)
                defer { log.close() }
                try check(log, acknowledged: acknowledged, committed: committed)
            }
            #expect(acknowledged.count > 100)
            #expect(committed.count > 25)
        }
    }

    private func check(
        _ log: SQLiteLog, acknowledged: [String], committed: [String]
    ) throws {
        let keys = try log.readAll(log.places(of: .session)).compactMap(\.key)
        #expect(Set(keys).count == keys.count, "no record is there twice")
        #expect(Set(acknowledged).isSubset(of: keys), "what was acknowledged is there")
        let epochs = try log.readAll(.epoch, 0).compactMap(\.value)
        #expect(Set(epochs).count == epochs.count)
        #expect(Set(committed).isSubset(of: epochs))
        #expect(try log.readAll(.notice, 0).compactMap(\.value) == epochs)
        for partition in 0..<4 {
            #expect(try log.readAll(.epoch, partition).compactMap(\.value) == epochs)
            #expect(try log.readAll(.throttle, partition).compactMap(\.value) == epochs)
        }
        let worker = try log.makeAssignedWorker()
        defer { worker.close() }
        for partition in 0..<4 {
            let positions = try worker.committedPositions(partition: partition)
            #expect(Set(positions.values) == Set(epochs.isEmpty ? [] : [Int64(epochs.count)]))
        }
    }

    @Test("is read by another process while this one writes")
    func otherReader() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(path: path, partitions: 4)
            defer { log.close() }
            try log.append((0..<50).map { .init(.session, $0 % 4, key: "before \($0)", "v") })
            let child = try TortureChild(["follow", path, "100"])
            #expect(child.nextLine() == "ready")
            for index in 0..<50 {
                try log.append([.init(.session, index % 4, key: "after \(index)", "v")])
            }
            var keys: [String] = []
            while let key = child.nextLine() { keys.append(key) }
            #expect(child.wait() == .exited(0))
            let expected = (0..<50).flatMap { ["before \($0)", "after \($0)"] }
            #expect(keys.sorted() == expected.sorted())
        }
    }

    @Test("wakes a reader when another process has written")
    func wokenByOther() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(path: path, partitions: 4)
            defer { log.close() }
            let reader = try log.makeReader(from: [TopicPartition(.session, 0): 0])
            defer { reader.close() }
            let child = try TortureChild(["write", path, "other"])
            let batch = LogBatch()
            _ = try reader.poll(into: batch, waitMilliseconds: 60_000)
            child.kill()
            #expect(batch.copies.first?.key?.hasPrefix("other/") == true)
            while child.nextLine() != nil {}
            #expect(child.wait() == .killed(SIGKILL))
        }
    }

    @Test("lets the newest process commit only")
    func fencedByOther() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let (one, other) = (try SQLiteLog(path: path), try SQLiteLog(path: path))
            defer {
                one.close()
                other.close()
            }
            let old = try one.makeAssignedWorker()
            _ = try old.commit([.init(.epoch, 0, "1")], positions: [:])
            let new = try other.makeAssignedWorker()
            #expect(new.generation > old.generation)
            let late = try fault {
                _ = try old.commit(
                    [.init(.epoch, 0, "zombie")], positions: [TopicPartition(.crash, 0): 1])
            }
            #expect(late.remedy == .fenced)
            _ = try new.commit([.init(.epoch, 0, "2")], positions: [:])
            #expect(try one.readAll(.epoch, 0).map(\.value) == ["1", "2"])
            #expect(try new.committedPositions(partition: 0) == [:])
            old.close()
            // A process that starts anew takes over in turn, with all of its lanes.
            let again = try one.makeAssignedWorker()
            _ = try again.commit([.init(.epoch, 0, "3")], positions: [:])
            let fenced = try fault { _ = try new.commit([], positions: [:]) }
            #expect(fenced.remedy == .fenced)
            again.close()
            new.close()
        }
    }
}

extension SeededGenerator {
    mutating func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
