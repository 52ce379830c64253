// Starts that cannot be: refused with what is wrong, what to do, and a status.
import Foundation
import HTTPClient
import ProcessTestSupport
import SQLiteLog
import Testing

@Suite("The program refuses")
struct StartTests {
    /// Runs a subcommand that has to fail, and holds what it says against the texts.
    private func expectRefusal(
        _ arguments: [String], status: Int32 = 1, saying texts: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (ending, output, complaints) = try Child.run(arguments)
        #expect(ending == .exited(status), "\(complaints)", sourceLocation: sourceLocation)
        #expect(output.isEmpty, sourceLocation: sourceLocation)
        for text in texts {
            #expect(complaints.contains(text), "\(complaints)", sourceLocation: sourceLocation)
        }
    }

    @Test("to take events from everyone", arguments: ["run", "collect"])
    func openToAll(stage: String) throws {
        try withWorkplace { workplace in
            try expectRefusal(
                [stage, "--listen", "0.0.0.0:0", "--log", workplace.place],
                saying: ["0.0.0.0", "--keys", "127.0.0.1"])
        }
    }

    @Test("keys that cannot be used, and does not repeat them")
    func badKeys() throws {
        try withWorkplace { workplace in
            let keys = try workplace.write("keys.txt", "0123456789abcdef *\nsecret one two\n")
            let start = ["run", "--listen", "127.0.0.1:0", "--log", workplace.place]
            let (ending, _, complaints) = try Child.run(start + ["--keys", keys])
            #expect(ending == .exited(1))
            #expect(complaints.contains("line 2") && !complaints.contains("secret"))
            try expectRefusal(
                start + ["--keys", keys + ".none"], saying: ["No such file", "keys.txt.none"])
        }
    }

    @Test("a log that is none, is damaged, is newer, or cannot be there")
    func badLogs() throws {
        try withWorkplace { workplace in
            func start(_ path: String, saying texts: [String]) throws {
                try expectRefusal(
                    ["run", "--listen", "127.0.0.1:0", "--log", "sqlite:\(path)"], saying: texts)
            }
            let text = try workplace.write("notes.txt", String(repeating: "notes\n", count: 2_000))
            try start(text, saying: ["not a database", "move it away"])
            try start(workplace.folder + "/none/log.db", saying: ["mkdir -p"])
            try start(workplace.folder, saying: [workplace.folder])
            try workplace.open().close()
            let sound = try Data(contentsOf: URL(fileURLWithPath: workplace.path))
            var newer = sound
            // The last byte of SQLite's user_version.
            newer[63] = 99
            try newer.write(to: URL(fileURLWithPath: workplace.path))
            try start(workplace.path, saying: ["version 99", "newer adbrake"])
            // Everything but the first page is gone.
            let cut = workplace.folder + "/cut.db"
            try sound.prefix(8_192).write(to: URL(fileURLWithPath: cut))
            try start(cut, saying: ["damaged"])
        }
    }

    @Test("a port that is taken, and leaves the program that has it alone")
    func takenPort() throws {
        try withWorkplace { workplace in
            let first = try workplace.start("run", try workplace.evaluating())
            defer { first.close() }
            let address = try first.address()
            _ = try first.line(with: "partitions restored")
            let port = try #require(address.split(separator: ":").last)
            // The same line twice, as by a person who has forgotten the first.
            let again = ["run", "--listen", "127.0.0.1:\(port)", "--log", workplace.place]
            try expectRefusal(again, saying: ["127.0.0.1:\(port)", "the port is taken"])
            let connection = HTTPConnection()
            let event = #"{"type":"session","app":"app","session":"s"}"#
            #expect(try connection.post("\(address)/v1/events", event).status == 202)
            _ = try eventually("the first one still decides, and not: \(first.complaints)") {
                try #require(first.isRunning, "\(first.complaints)")
                let answer = try Answer(about: "app", of: address, connection)
                return answer.cause == "initial" || answer.state == "Normal" ? true : nil
            }
            first.signal(SIGTERM)
            #expect(try first.waitForEnd() == .exited(0))
        }
    }

    @Test("what it does not know, with what was meant")
    func misspelt() throws {
        let cases: [([String], [String])] = [
            (["rnu"], ["unknown subcommand `rnu`", "`adbrake run`"]),
            (["run", "--lisen", "127.0.0.1:0"], ["`--lisen`", "`--listen`"]),
            (["evaluate", "--snapshot-evry", "1s"], ["`--snapshot-every`"]),
            (["serve", "--listen"], ["--listen"]),
            (["serve", "--listen", "nowhere"], ["--listen", "nowhere"]),
            (["run", "--lanes", "many"], ["--lanes", "many"]),
            (["evaluate", "--idle-lag", "1"], ["--idle-lag"]),
            (["replay", "file.ndjson"], ["file.ndjson"]),
        ]
        for (arguments, texts) in cases {
            try expectRefusal(arguments, status: 64, saying: texts)
        }
    }

    @Test("nothing that is asked for help")
    func help() throws {
        let options: [String: [String]] = [
            "run": [
                "--listen", "--log", "--partitions", "--policy", "--lanes", "--max-apps",
                "--idle-lag", "--snapshot-every", "--rebuild", "--keys", "--stale-after",
                "--validity",
                "--country-header", "--backup", "--log-level",
            ],
            "collect": ["--listen", "--log", "--partitions", "--keys", "--log-level"],
            "evaluate": ["--listen", "--log", "--policy", "--lanes", "--idle-lag"],
            "serve": ["--listen", "--log", "--stale-after", "--validity", "--backup"],
            "replay": ["--input", "--log", "--from", "--until", "--policy", "--quiet"],
            "traffic": ["--collector", "--scenario", "--rate", "--seed", "--report"],
            "topics": ["--log", "--kafka-config", "--prefix"],
            "bench": ["--policy"],
        ]
        let whole = try Child.run(["--help"])
        #expect(whole.ending == .exited(0) && whole.complaints.isEmpty)
        for (subcommand, names) in options {
            #expect(whole.output.contains("\n  \(subcommand) "))
            let help = try Child.run([subcommand, "--help"])
            #expect(help.ending == .exited(0) && help.complaints.isEmpty)
            for name in names + ["Usage: adbrake \(subcommand)"] {
                #expect(help.output.contains(name), "\(subcommand) \(name)")
            }
            #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        }
    }
}
