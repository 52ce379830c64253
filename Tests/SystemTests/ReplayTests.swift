// `adbrake replay`, over files and over what the program has written.
import BrakeModel
import BrakeWire
import Foundation
import ProcessTestSupport
import SQLiteLog
import Testing

@Suite("The program's replay")
struct ReplayTests {
    /// Ten minutes of five apps with trouble in between, as lines.
    private static func lines() -> String {
        var random = SeededGenerator(seed: 5)
        var text = ""
        var append: Int64 = 1_700_000_000_000
        for number in 0..<1_500 {
            append += Int64(random.next(below: 800))
            let app = "app-\(random.next(below: 5))"
            let ids = #""app":"\#(app)","session":"s\#(number)","device":"d\#(number % 300)""#
            text += #"{"append":\#(append),"value":{"type":"session",\#(ids)}}"# + "\n"
            if number % 500 > 250, random.chance(30) {
                text +=
                    #"{"append":\#(append),"value":{"type":"crash","id":"c\#(number)",\#(ids)}}"#
                    + "\n"
            }
        }
        return text + #"{"append":\#(append + 3_600_000)}"#
    }

    @Test("decides the same however its input is cut", arguments: ["article", "default", "file"])
    func pieces(policy: String) throws {
        try withWorkplace { workplace in
            let name =
                policy == "file" ? try workplace.write("quick.json", QuickPolicy.text) : policy
            let text = Self.lines()
            let file = try workplace.write("events.ndjson", text)
            let whole = try Child.run(["replay", "--input", file, "--policy", name])
            #expect(whole.ending == .exited(0), "\(whole.complaints)")
            #expect(whole.output.contains(#""state":"Halt""#))
            #expect(whole.complaints.contains("events of 5 apps"))
            let pieces = try Child.run(
                ["replay", "--input", "-", "--policy", name, "--quiet"], input: Array(text.utf8),
                pieceBytes: 41)
            #expect(pieces.ending == .exited(0) && pieces.complaints.isEmpty)
            #expect(pieces.output == whole.output)
        }
    }

    @Test("lists everything that is wrong with a policy")
    func badPolicy() throws {
        try withWorkplace { workplace in
            let policy = try workplace.write(
                "bad.json",
                """
                {"name": "two words", "version": 0, "tick_ms": 5, "colour": "red",
                 "rules": [{"name": "r", "state": "Paused", "window_s": 61}]}
                """)
            let (ending, output, complaints) = try Child.run(
                ["replay", "--input", "-", "--policy", policy])
            #expect(ending == .exited(1) && output.isEmpty)
            for place in [
                "name", "version", "tick_ms", "colour", "rules[0].state", "rules[0].window_s",
                "rules[0].crash_free_below",
            ] {
                #expect(complaints.contains("\n  - \(place): "), "\(complaints)")
            }
        }
    }

    @Test("gives what a log's evaluator has published, from a time on and until a time")
    func range() throws {
        try withWorkplace { workplace in
            let clients = Clients(count: 2, seed: 4)
            defer { _ = clients.finish() }
            let child = try workplace.start("run", try workplace.evaluating())
            defer { child.close() }
            clients.send(to: try child.address())
            let log = try workplace.open()
            defer { log.close() }
            _ = try eventually("some changes, and not: \(child.complaints)") {
                try log.throttleRecords().count >= 20 ? true : nil
            }
            let tally = try #require(clients.finish())
            child.signal(SIGTERM)
            #expect(try child.waitForEnd() == .exited(0))
            _ = try Invariants(log: log).checkAll(tally, workplace)
            let since = try log.throttleRecords().map(\.change.since).sorted()
            let middle = since[since.count / 2]
            let policy = workplace.folder + "/quick.json"
            func replay(_ options: [String]) throws -> String {
                let (ending, output, complaints) = try Child.run(
                    ["replay", "--log", workplace.place, "--policy", policy] + options)
                #expect(ending == .exited(0), "\(complaints)")
                return output
            }
            let (all, before, after) = (
                try replay([]), try replay(["--until", "\(middle)"]),
                try replay(["--from", "\(middle)"])
            )
            #expect(before + after == all)
            #expect(before.split(separator: "\n").count == since.count { $0 < middle })
            // Under another name the same policy is another one: by append time.
            let text = QuickPolicy.text.replacingOccurrences(of: "quick", with: "other")
            let name = try workplace.write("other.json", text)
            let other = try Child.run(["replay", "--log", workplace.place, "--policy", name])
            #expect(other.ending == .exited(0), "\(other.complaints)")
            #expect(other.output.contains(#""policy":"other""#))
        }
    }
}
