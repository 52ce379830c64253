// People deciding through the program: what they say holds, outlives the process, and ends.
import Foundation
import Glibc
import HTTPClient
import Testing

@Suite("People who decide")
struct AdminTests {
    private static let token = "0123456789abcdef0123"

    private func deciding(_ workplace: Workplace) throws -> [String] {
        let tokens = try workplace.write("tokens.txt", "\(Self.token) anna write\n")
        return ["--admin-listen", "127.0.0.1:0", "--admin-tokens", tokens]
    }

    private func adminAddress(_ child: Child) throws -> String {
        let line = try child.line(with: #""for":"admin""#)
        let rest = line.components(separatedBy: "\"address\":\"").dropFirst().first
        return try #require(rest?.components(separatedBy: "\"").first)
    }

    private func decide(
        _ words: [String], at child: Child, _ workplace: Workplace
    ) throws -> (ending: Child.Ending, output: String, complaints: String) {
        let file = try workplace.write("token.txt", Self.token + "\n")
        return try Child.run(
            ["admin"] + words + ["--admin", try adminAddress(child), "--token-file", file])
    }

    private func document(_ child: Child, _ app: String) throws -> String {
        try HTTPConnection(limits: HTTPLimits(totalMilliseconds: 20_000)).get(
            child.address() + "/v1/apps/\(app)"
        ).text
    }

    @Test("hold an app over a kill -9, until it is released, and are seen in its document")
    func hold() throws {
        try withWorkplace { workplace in
            let options = try workplace.evaluating() + deciding(workplace)
            let first = try workplace.start("run", options)
            defer { first.close() }
            let pinned = try decide(
                [
                    "pin", "--app", "my.app", "--state", "Halt", "--for", "1h", "--reason",
                    "SDK 9 burns",
                ], at: first, workplace)
            #expect(pinned.ending == .exited(0), "\(pinned.complaints)")
            #expect(pinned.output.contains("pin my.app Halt until"))
            _ = try eventually("the app is held") {
                let text = try document(first, "my.app")
                return text.contains(#""state":"Halt""#) && text.contains(#""by":"anna""#)
                    && text.contains("SDK 9 burns") ? true : nil
            }
            first.signal(SIGKILL)
            _ = try first.waitForEnd()
            let second = try workplace.start("run", options)
            defer { second.close() }
            _ = try eventually("it is held after the start") {
                try document(second, "my.app").contains(#""cause":"override""#) ? true : nil
            }
            let list = try decide(["list"], at: second, workplace)
            #expect(list.output.contains("pin my.app Halt until"))
            #expect(list.output.contains("anna"))
            let released = try decide(
                ["release", "--app", "my.app", "--reason", "fixed"], at: second, workplace)
            #expect(released.ending == .exited(0), "\(released.complaints)")
            _ = try eventually("the computed state is published") {
                try document(second, "my.app").contains(#""state":"Halt""#) ? nil : true
            }
            let history = try decide(["history"], at: second, workplace)
            #expect(history.output.contains("release my.app (anna"))
            second.signal(SIGTERM)
            #expect(try second.waitForEnd() == .exited(0), "\(second.complaints)")
            let replay = try Child.run(
                ["replay", "--log", workplace.place, "--policy", options[1]])
            #expect(replay.ending == .exited(0), "\(replay.complaints)")
            #expect(replay.output.contains(#""cause":"override""#))
            #expect(replay.complaints.contains("every checksum as in the log"))
        }
    }

    @Test("are told everything that is wrong, and may try a change before it is made")
    func refusal() throws {
        try withWorkplace { workplace in
            let child = try workplace.start(
                "run", try workplace.evaluating() + deciding(workplace))
            defer { child.close() }
            let typo = try decide(
                ["pin", "--app", "*", "--state", "halt", "--reason", "r"], at: child, workplace)
            #expect(typo.ending == .exited(1))
            #expect(typo.complaints.contains("state: expected one of Normal"))
            let silent = try decide(["pin", "--app", "*", "--state", "Halt"], at: child, workplace)
            #expect(silent.complaints.contains("pin needs --reason"))
            let dry = try decide(
                [
                    "assign", "--apps", "*", "--policy", "article", "--reason", "r", "--dry-run",
                ], at: child, workplace)
            #expect(dry.ending == .exited(0), "\(dry.complaints)")
            #expect(dry.output.contains("apps would have gone another way"))
            let list = try decide(["list"], at: child, workplace)
            #expect(list.output.contains("nothing is decided"))
        }
    }

    @Test(
        "are let in on loopback or over TLS only, and with tokens only",
        arguments: [
            (["--admin-listen", "127.0.0.1:0"], "--admin-tokens"),
            (["--admin-listen", "0.0.0.0:0", "--admin-tokens", "TOKENS"], "in clear"),
            (["--admin-listen", "here", "--admin-tokens", "TOKENS"], "expected HOST:PORT"),
            (["--admin-listen", "127.0.0.1:0", "--admin-tokens", "EMPTY"], "no token at all"),
        ])
    func closed(_ options: [String], _ words: String) throws {
        try withWorkplace { workplace in
            let files = [
                "TOKENS": try workplace.write("tokens.txt", "\(Self.token) anna write\n"),
                "EMPTY": try workplace.write("empty.txt", "# nobody\n"),
            ]
            let child = try Child.run(
                ["run", "--listen", "127.0.0.1:0", "--log", workplace.place]
                    + options.map { files[$0] ?? $0 })
            #expect(child.ending == .exited(1))
            #expect(child.complaints.contains(words), "\(child.complaints)")
        }
    }
}
