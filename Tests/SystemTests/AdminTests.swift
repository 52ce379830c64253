// People deciding through the program: what they say holds, outlives the process, and ends.
import Foundation
import Glibc
import HTTPClient
import ProcessTestSupport
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

    @Test("are served over TLS, and only those whose certificate they trust are told the token")
    func encrypted() throws {
        try withWorkplace { workplace in
            let (key, certificate) = (workplace.folder + "/key", workplace.folder + "/cert")
            let made = try Child(
                command: [
                    "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
                ], variables: [])
            defer { made.close() }
            try #require(try made.waitForEnd() == .exited(0))
            let child = try workplace.start(
                "run",
                try workplace.evaluating() + deciding(workplace)
                    + ["--admin-tls-certificate", certificate, "--admin-tls-key", key])
            defer { child.close() }
            #expect(try adminAddress(child).hasPrefix("https://127.0.0.1:"))
            let list = try decide(["list", "--ca", certificate], at: child, workplace)
            #expect(list.ending == .exited(0), "\(list.complaints)")
            let stranger = try decide(["list"], at: child, workplace)
            #expect(stranger.ending == .exited(1))
            #expect(stranger.complaints.contains("certificate"), "\(stranger.complaints)")
        }
    }

    @Test("are others once the file of tokens has been read again, which a mistake in it hinders")
    func reload() throws {
        try withWorkplace { workplace in
            let child = try workplace.start(
                "run", try workplace.evaluating() + deciding(workplace))
            defer { child.close() }
            _ = try adminAddress(child)
            func tokens(_ text: String) throws {
                _ = try workplace.write("tokens.txt", text)
                child.signal(SIGHUP)
            }
            try tokens("\(Self.token) anna admin\n")
            _ = try child.line(with: "tokens kept as they were")
            #expect(try decide(["list"], at: child, workplace).ending == .exited(0))
            try tokens("0000111122223333 ben write\n")
            _ = try child.line(with: "tokens read again")
            let gone = try decide(["list"], at: child, workplace)
            #expect(gone.ending == .exited(1))
            try tokens("\(Self.token) anna read\n")
            _ = try eventually("the token is known again") {
                try decide(["list"], at: child, workplace).ending == .exited(0) ? true : nil
            }
            let cap = ["cap", "--app", "*", "--per-hour", "1", "--per-day", "2", "--reason", "r"]
            #expect(try decide(cap, at: child, workplace).ending == .exited(1), "may only read")
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
