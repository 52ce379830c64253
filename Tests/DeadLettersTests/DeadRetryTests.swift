// Letters retried: in order, once at most, with the times that they would have had.
import BrakeModel
import BrakeWire
import EventLog
import Testing

@testable import DeadLetters

@Suite struct DeadRetryTests {
    private static func crash(_ id: String, _ app: String = "app", _ more: String = "") -> String {
        #"{"type":"crash","app":"\#(app)","id":"\#(id)"\#(more),"at":1799999990000}"#
    }

    @Test(arguments: DeadLogKind.all)
    func `letters are appended in order, and once however often it is run`(
        kind: DeadLogKind
    ) throws {
        try DeadWorld.with(kind) { world in
            let crashes = (0..<450).map { Self.crash("c\($0)") }
            for crash in crashes { try world.refuse(.crash, "app", crash) }
            world.pass(milliseconds: 60_000)
            let first = try world.retry()
            #expect(first.retried == 450 && first.events == 450 && first.left.isEmpty)
            #expect(try world.values(.crash) == crashes + crashes)
            let again = try world.retry()
            #expect(again.retried == 0 && again.retriedBefore == 450)
            #expect(try world.values(.crash).count == 900)
            let marks = try world.values(.dead).filter { $0.contains(#""retried":["#) }
            #expect(marks.count == 3 && marks.allSatisfy { $0.contains(#""by":"test""#) })
        }
    }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `an append that fails, or whose answer is lost, doubles and loses nothing`(
        seed: UInt64
    ) throws {
        try DeadWorld.with(.memory) { world in
            let memory = try #require(world.log as? MemoryLog)
            let crashes = (0..<900).map { Self.crash("c\($0)") }
            for crash in crashes { try world.refuse(.crash, "app", crash) }
            // Up to four faults in a row, so that the fifth attempt comes through.
            memory.failAppends((0..<4).map { seed >> $0 & 1 == 0 ? .before : .after })
            let outcome = try world.retry()
            #expect(outcome.retried == 900 && outcome.retriedBefore == 0, "seed \(seed)")
            #expect(try world.values(.crash) == crashes + crashes, "seed \(seed)")
        }
    }

    @Test(arguments: DeadLogKind.all)
    func `a run that was given up is gone on with by the next`(kind: DeadLogKind) throws {
        try DeadWorld.with(kind) { world in
            for number in 0..<500 { try world.refuse(.crash, "app", Self.crash("c\(number)")) }
            // While the first looks, a second one begins and finishes.
            var other: DeadRetry.Outcome?
            let first = world.makeRetry()
            do {
                _ = try first.run { _ in
                    if other == nil { other = try? world.retry() }
                }
                Issue.record("the first run was not fenced")
            } catch let fault as LogFault {
                #expect(fault.remedy == .fenced)
            }
            let retried = try #require(other)
            #expect(retried.retried + retried.retriedBefore == 500)
            #expect(try world.retry().retriedBefore == 500)
            #expect(try world.values(.crash).count == 1_000)
        }
    }

    @Test(arguments: DeadLogKind.all)
    func `what is longer than a letter keeps is read from its input`(kind: DeadLogKind) throws {
        try DeadWorld.with(kind) { world in
            let long = Self.crash(
                "long", "app", #","stack":"\#(String(repeating: "x", count: 3_000))""#)
            try world.refuse(.crash, "app", "[\(Self.crash("a")),\(long)]", index: 1)
            try world.refuse(.crash, "app", long)
            try world.refuseUpload(long, app: "app")
            let outcome = try world.retry()
            #expect(outcome.retried == 2 && outcome.left == [.cut: 1])
            #expect(try world.values(.crash).suffix(2) == [long, long])
        }
    }

    @Test func `what retention has deleted, or another log has, is left and said`() throws {
        try DeadWorld.with(.memory) { world in
            let memory = try #require(world.log as? MemoryLog)
            let long = Self.crash(
                "long", "app", #","stack":"\#(String(repeating: "x", count: 3_000))""#)
            try world.refuse(.crash, "app", long)
            try world.refuse(.crash, "app", long)
            let place = TopicPartition(
                .crash, Partitioner.partition(of: Array("app".utf8), partitions: 4))
            memory.deleteRecords(of: place, before: 1)
            memory.damage(place, at: 1) { _ in Array("{}".utf8) }
            let outcome = try world.retry()
            #expect(outcome.retried == 0 && outcome.left == [.gone: 1, .differs: 1])
            #expect(try world.values(.dead).count == 2)
        }
    }

    @Test func `events of uploads go to the input of their type and the partition of their app`()
        throws
    {
        try DeadWorld.with(.memory) { world in
            let session = #"{"type":"session","app":"shop","session":"s1","at":1799999990000}"#
            try world.refuseUpload(session, app: "shop")
            #expect(try world.retry().events == 1)
            let partition = Partitioner.partition(of: Array("shop".utf8), partitions: 4)
            let place = TopicPartition(.session, partition)
            #expect(try world.log.bounds(of: place).upperBound == 1)
            #expect(try world.values(.session) == [session])
        }
    }

    @Test func `an event keeps the time that it would have had`() throws {
        try DeadWorld.with(.memory) { world in
            let append = DeadWorld.start
            let shifted =
                #"{"sent":1800000600000,"type":"crash","app":"app","id":"a","#
                + #""at":1800000590000,"session_at":1800000500000}"#
            try world.refuse(.crash, "app", shifted)
            try world.refuse(.crash, "app", #"{"type":"crash","app":"app","id":"b"}"#)
            try world.refuse(.crash, "app", #"{"type":"crash","app":"app","at":1900000000}"#)
            world.pass(milliseconds: 3_000_000)
            #expect(try world.retry().events == 3)
            let retried = try world.values(.crash).suffix(3)
            #expect(
                Array(retried) == [
                    #"{"type":"crash","app":"app","id":"a","at":\#(append - 10_000),"#
                        + #""session_at":\#(append - 100_000)}"#,
                    #"{"type":"crash","app":"app","id":"b","at":\#(append)}"#,
                    #"{"type":"crash","app":"app","at":\#(append)}"#,
                ])
        }
    }

    @Test func `what still cannot be used is neither appended nor marked`() throws {
        try DeadWorld.with(.memory) { world in
            try world.refuse(.crash, "app", "{")
            try world.refuse(.crash, "app", #"{"type":"crash","app":"app","at":"noon"}"#)
            try world.refuse(.crash, "app", "")
            for _ in 0..<2 {
                let outcome = try world.retry()
                #expect(outcome.retried == 0)
                #expect(outcome.stillRefused == [.badJSON: 1, .badTime: 1, .empty: 1])
            }
            #expect(try world.values(.crash).count == 3)
            #expect(try world.values(.dead).count == 3)
        }
    }

    @Test func `of a record the good events are taken, each bad one gets a letter`() throws {
        try DeadWorld.with(.memory) { world in
            let bad = #"{"type":"crash","app":"app","at":"noon"}"#
            let record = "[\(Self.crash("a")),\(bad),\(Self.crash("b"))]"
            try world.refuse(.crash, "app", record, reason: .badJSON)
            let outcome = try world.retry()
            #expect(outcome.retried == 1 && outcome.events == 2)
            #expect(try world.values(.crash).last == "[\(Self.crash("a")),\(Self.crash("b"))]")
            let list = try DeadList(world.log, filter: DeadFilter(), limit: 10)
            #expect(list.letters.map(\.isRetried) == [true, false])
            let rest = try #require(list.letters.last?.stored.letter)
            #expect(rest.stage == .retry && rest.event.index == 1 && rest.offset == 0)
            #expect(rest.excerpt == Array(bad.utf8) && rest.event.reason == .badTime)
            #expect(try world.retry().stillRefused == [.badTime: 1])
        }
    }

    @Test func `arrays that were too large are cut into records that are not`() throws {
        try DeadWorld.with(.memory) { world in
            let events = (0..<1_500).map {
                Self.crash("c\($0)", "app", #","stack":"\#(String(repeating: "x", count: 300))""#)
            }
            try world.refuse(
                .crash, "app", "[\(events.joined(separator: ","))]", reason: .tooLarge)
            #expect(try world.retry().events == 1_500)
            let records = try world.values(.crash).dropFirst()
            #expect(records.count >= 3 && records.allSatisfy { $0.utf8.count <= 256 * 1_024 })
            let joined = records.map { $0.dropFirst().dropLast() }.joined(separator: ",")
            #expect(joined == events.joined(separator: ","))
        }
    }

    @Test func `what came under another app's key is retried only when it is asked for`() throws {
        try DeadWorld.with(.memory) { world in
            try world.refuse(.crash, "thief", Self.crash("a", "victim"), reason: .wrongApp)
            #expect(try world.retry().left == [.otherApp: 1])
            var filter = DeadFilter()
            filter.reason = .wrongApp
            #expect(try world.retry(filter).retried == 1)
        }
    }

    @Test func `a rehearsal tells the same and changes nothing`() throws {
        try DeadWorld.with(.memory) { world in
            try world.refuse(.crash, "app", Self.crash("a"))
            try world.refuse(.crash, "app", "{")
            let told = try world.makeRetry().rehearse()
            #expect(try world.values(.crash).count == 2)
            #expect(try world.values(.dead).count == 2)
            #expect(try world.retry() == told)
        }
    }
}
