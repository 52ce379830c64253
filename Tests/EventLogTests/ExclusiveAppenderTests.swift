// Appenders that are alone in their name: what dead letters are retried with.
import EventLog
import Foundation
import LogTestSupport
import Testing

@testable import SQLiteLog

@Suite("Exclusive appenders")
struct ExclusiveAppenderTests {
    @Test("append to several topics at once", arguments: LogKind.all)
    func together(kind: LogKind) async throws {
        try await kind.withLog { log in
            let appender = try log.makeExclusiveAppender(name: "retry")
            defer { appender.close() }
            try appender.append([.init(.crash, 1, "a"), .init(.dead, 0, "mark")])
            try appender.append([.init(.crash, 1, "b")])
            #expect(try log.readAll(.crash, 1).map(\.value) == ["a", "b"])
            #expect(try log.readAll(.dead).map(\.value) == ["mark"])
        }
    }

    @Test("are fenced by the next of their name, and by no other", arguments: LogKind.all)
    func fence(kind: LogKind) async throws {
        try await kind.withLog { log in
            let first = try log.makeExclusiveAppender(name: "retry")
            let other = try log.makeExclusiveAppender(name: "other")
            let second = try log.makeExclusiveAppender(name: "retry")
            let refused = try fault { try first.append([.init(.dead, 0, "late")]) }
            #expect(refused.remedy == .fenced)
            try second.append([.init(.dead, 0, "second")])
            try other.append([.init(.dead, 0, "other")])
            #expect(try log.readAll(.dead).map(\.value) == ["second", "other"])
        }
    }

    @Test("are fenced by another process's, and by those after a restart")
    func processes() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let one = try SQLiteLog(path: path)
            let other = try SQLiteLog(path: path)
            let first = try one.makeExclusiveAppender(name: "retry")
            let second = try other.makeExclusiveAppender(name: "retry")
            #expect(try fault { try first.append([.init(.dead, 0, "late")]) }.remedy == .fenced)
            other.close()
            let again = try SQLiteLog(path: path)
            defer { again.close() }
            let third = try again.makeExclusiveAppender(name: "retry")
            try third.append([.init(.dead, 0, "third")])
            #expect(try fault { try first.append([.init(.dead, 0, "late")]) }.remedy == .fenced)
            #expect(try one.readAll(.dead).map(\.value) == ["third"])
            second.close()
            one.close()
        }
    }

    @Test("work in a file that a build without them has made")
    func olderFile() throws {
        try withDirectory { directory in
            let path = directory + "/log.db"
            let log = try SQLiteLog(path: path)
            try log.append([.init(.dead, 0, "old")])
            log.close()
            let connection = try Connection(path: path, isCreating: false)
            try connection.run("DROP TABLE appender")
            connection.close()
            let again = try SQLiteLog(path: path)
            defer { again.close() }
            try again.makeExclusiveAppender(name: "retry").append([.init(.dead, 0, "new")])
            #expect(try again.readAll(.dead).map(\.value) == ["old", "new"])
        }
    }

    @Test("append all or nothing")
    func atomic() throws {
        let log = MemoryLog(partitions: 1)
        let appender = log.makeExclusiveAppender(name: "retry")
        let records: [OutgoingRecord] = [.init(.crash, 0, "a"), .init(.dead, 0, "mark")]
        log.failAppends([.before, .after])
        #expect(try fault { try appender.append(records) }.remedy == .retry)
        #expect(try log.readAll(.dead).isEmpty)
        #expect(try fault { try appender.append(records) }.remedy == .retry)
        #expect(try log.readAll(.dead).count == 1)
        #expect(try log.readAll(.crash).count == 1)
    }
}
