// Letters listed, counted and shown.
import BrakeModel
import BrakeWire
import EventLog
import Testing

@testable import DeadLetters

@Suite struct DeadListTests {
    private func withLetters(_ body: (DeadWorld) throws -> Void) throws {
        try DeadWorld.with(.sqlite) { world in
            try world.refuse(.crash, "one", "{", reason: .badJSON)
            try world.refuse(
                .session, "two", #"{"type":"session","app":"two","at":0}"#, reason: .badTime)
            world.pass(milliseconds: 10_000)
            try world.refuse(.crash, "two", "7", reason: .notAnObject)
            try world.refuseUpload(#"{"app":"one"}"#, app: "one", reason: .unknownType)
            try world.log.append([
                OutgoingRecord(.dead, partition: 0, key: nil, value: Array("{\"v\":9}".utf8))
            ])
            try body(world)
        }
    }

    @Test func `filters choose by app, reason, topic, stage, time and number`() throws {
        try withLetters { world in
            let cases: [((inout DeadFilter) -> Void, [Int64])] = [
                ({ _ in }, [0, 1, 2, 3]), ({ $0.app = AppID("one") }, [0, 3]),
                ({ $0.reason = .badTime }, [1]), ({ $0.topic = "crash" }, [0, 2]),
                ({ $0.stage = .collect }, [3]),
                ({ $0.since = DeadWorld.start + 10_000 }, [2, 3]), ({ $0.number = 2 }, [2]),
            ]
            for (change, numbers) in cases {
                var filter = DeadFilter()
                change(&filter)
                let list = try DeadList(world.log, filter: filter, limit: 10)
                #expect(list.letters.map(\.stored.number) == numbers)
                #expect(list.unreadable == 1)
            }
        }
    }

    @Test func `a list has the last letters and tells how many there are`() throws {
        try withLetters { world in
            let list = try DeadList(world.log, filter: DeadFilter(), limit: 2)
            #expect(list.count == 4 && list.letters.map(\.stored.number) == [2, 3])
        }
    }

    @Test func `counts are by what is asked for, the largest first`() throws {
        try withLetters { world in
            let byTopic = try DeadCount(world.log, filter: DeadFilter(), by: .topic).groups
            #expect(byTopic.map(\.value) == ["crash", "session", "upload"])
            #expect(byTopic.map(\.letters) == [2, 1, 1])
            let byStage = try DeadCount(world.log, filter: DeadFilter(), by: .stage).groups
            #expect(byStage.map(\.value) == ["evaluate", "collect"])
            let byApp = try DeadCount(world.log, filter: DeadFilter(), by: .app).groups
            #expect(byApp.map(\.letters) == [2, 2])
        }
    }

    @Test func `what comes from outside does not steer a terminal`() throws {
        try DeadWorld.with(.memory) { world in
            try world.refuse(.crash, "app", "\u{1b}[2J\u{202e}{\"a\":\n1}", reason: .badJSON)
            let stored = try #require(
                try DeadList(world.log, filter: DeadFilter(), limit: 1).letters.first?.stored)
            let line = stored.line(isRetried: false)
            #expect(line.hasSuffix(#"\u{1b}[2J\u{202e}{"a":\u{a}1}"#))
            let text = stored.text(isRetried: false)
            #expect(text.contains("kept      15 bytes, all"))
            #expect(text.hasSuffix("\\u{1b}[2J\\u{202e}{\"a\":\n1}\n"))
            let json = DocumentReader().read(stored.json(isRetried: true))
            #expect(json?["letter"]?["text"]?.text == "\u{1b}[2J\u{202e}{\"a\":\n1}")
            #expect(json?["retried"] == .bool(true) && json?["number"]?.integer == 0)
        }
    }
}
