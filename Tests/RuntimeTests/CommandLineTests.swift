// The command line without a process: words and environment in, values or a helpful error out.
import Testing

@testable import Runtime

@Suite struct CommandLineTests {
    private static let log = Option.text(
        "log", "LOG", default: "sqlite:adbrake.db", environment: "ADBRAKE_LOG",
        help: "The log: sqlite:PATH or kafka:HOST:PORT.")
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8080), help: "Where to listen.")
    private static let lanes = Option.integer(
        "lanes", in: 1...64, default: 2, environment: "ADBRAKE_LANES", help: "Lanes.")
    private static let validity = Option.milliseconds(
        "validity", in: 1_000...86_400_000, default: 900_000, help: "Validity of a state.")
    private static let keys = Option.optional("keys", "FILE", help: "Keys.")
    private static let apps = Option.list("app", "APP", environment: "ADBRAKE_APPS", help: "Apps.")
    private static let check = Option.flag("check", environment: "ADBRAKE_CHECK", help: "Check.")
    private static let action = Option.argument(
        "ACTION", choices: ["create", "check"], help: "What to do.")

    private let syntax = CommandLineSyntax(
        program: "adbrake", version: "1.0", summary: "The brake.",
        commands: [
            CommandSyntax(
                "serve", summary: "Serves states.", discussion: "More about it.",
                options: [log, listen, lanes, validity, keys, apps, check],
                examples: [.init("adbrake serve --listen *:80", "Serves on all addresses.")]),
            CommandSyntax("topics", summary: "Makes topics.", options: [action, log]),
        ])

    private func parsed(
        _ words: String..., environment: [String: String] = [:]
    ) throws -> ParsedCommand {
        guard case .run(let command) = syntax.parse(words, environment: environment) else {
            Issue.record("not understood: \(syntax.parse(words, environment: environment))")
            throw UsageError(problem: "", hint: "")
        }
        return command
    }

    private func problem(
        _ words: String..., environment: [String: String] = [:]
    ) -> String {
        guard case .usage(let error) = syntax.parse(words, environment: environment) else {
            return "understood"
        }
        return error.description
    }

    @Test func `Nothing given means the defaults`() throws {
        let command = try parsed("serve")
        #expect(command[Self.log] == "sqlite:adbrake.db")
        #expect(command[Self.listen].description == "127.0.0.1:8080")
        #expect(command[Self.lanes] == 2)
        #expect(command[Self.validity] == 900_000)
        #expect(command[Self.keys] == nil)
        #expect(command[Self.apps] == [])
        #expect(command[Self.check] == false)
    }

    @Test func `Both ways to give a value are understood`() throws {
        let command = try parsed(
            "serve", "--log=kafka:a=b", "--lanes", "4", "--app", "x", "--validity", "10s",
            "--check",
            "--app", "y", "--keys", "-", "--listen", "[::1]:0")
        #expect(command[Self.log] == "kafka:a=b")
        #expect(command[Self.lanes] == 4)
        #expect(command[Self.apps] == ["x", "y"])
        #expect(command[Self.validity] == 10_000)
        #expect(command[Self.check])
        #expect(command[Self.keys] == "-")
        #expect(command[Self.listen] == ListenAddress(host: "::1", port: 0))
    }

    @Test func `The environment stands below the command line and above the default`() throws {
        let environment = [
            "ADBRAKE_LANES": "8", "ADBRAKE_LOG": "", "ADBRAKE_APPS": "a,b", "ADBRAKE_CHECK": "yes",
        ]
        let command = try parsed("serve", environment: environment)
        #expect(command[Self.lanes] == 8)
        #expect(command[Self.log] == "sqlite:adbrake.db")
        #expect(command[Self.apps] == ["a", "b"])
        #expect(command[Self.check])
        #expect(try parsed("serve", "--lanes", "3", environment: environment)[Self.lanes] == 3)
    }

    @Test func `An error names the option, what was expected, and the nearest known one`() {
        #expect(
            problem("serve", "--lanes", "0") == """
                serve: --lanes is `0`, expected a whole number from 1 to 64
                `adbrake serve --help` explains the options.
                """)
        #expect(problem("serve", "--lnaes", "2").contains("Did you mean `--lanes`?"))
        #expect(problem("server").contains("Did you mean `adbrake serve`?"))
        #expect(problem("serve", "lanes", "2").contains("Did you mean `--lanes`?"))
        #expect(problem("serve", "--lanes").contains("--lanes has no value"))
        #expect(problem("serve", "--lanes", "--check").contains("--lanes has no value"))
        #expect(problem("serve", "--lanes", "1", "--lanes", "2").contains("given twice"))
        #expect(problem("serve", "--check=maybe").contains("expected yes or no"))
        #expect(problem("serve", "--listen", "80").contains("expected HOST:PORT"))
        #expect(problem("serve", "--validity", "10").contains("as 500ms, 10s"))
        #expect(problem("topics").contains("create|check is missing"))
        #expect(problem("topics", "destroy").contains("expected one of create, check"))
        #expect(problem("frobnicate").contains("`adbrake --help` lists the subcommands."))
        let environment = ["ADBRAKE_LANES": "many"]
        #expect(
            problem("serve", environment: environment)
                .contains("ADBRAKE_LANES (the environment's --lanes) is `many`"))
    }

    @Test(arguments: [["serve", "--help"], ["help", "serve"], ["serve", "--lanes", "x", "-h"]])
    func `Help of a subcommand shows examples, defaults and variables`(words: [String]) {
        guard case .text(let help) = syntax.parse(words) else {
            Issue.record("no help")
            return
        }
        #expect(help.contains("Usage: adbrake serve [OPTIONS]"))
        #expect(help.contains("adbrake serve --listen *:80"))
        #expect(help.contains("--validity TIME"))
        #expect(help.contains("(default: 15m)"))
        #expect(help.contains("environment: ADBRAKE_LOG"))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test(arguments: [[], ["--help"], ["help"], ["-h"]])
    func `Help of the program lists the subcommands`(words: [String]) {
        guard case .text(let help) = syntax.parse(words) else {
            Issue.record("no help")
            return
        }
        #expect(help.contains("  serve   Serves states."))
        #expect(help.contains("  topics  Makes topics."))
    }

    @Test(arguments: [
        ("500ms", 500), ("10s", 10_000), ("15m", 900_000), ("24h", 86_400_000),
        ("7d", 604_800_000), ("0", 0),
    ])
    func `Times read and write the same`(text: String, milliseconds: Int) {
        #expect(DurationText.milliseconds(text) == milliseconds)
        if milliseconds > 0 {
            #expect(DurationText.milliseconds(DurationText.text(milliseconds)) == milliseconds)
        }
    }

    @Test(arguments: ["", "s", "10", "-1s", "1.5s", "10 s", "99999999999999999d", "1w", "٣s"])
    func `What is no time is refused`(text: String) {
        #expect(DurationText.milliseconds(text) == nil)
    }

    @Test(arguments: ["", ":80", "80", "::1:80", "[::1]", "[x]:80", "a:b", "a:65536", "[::1:80"])
    func `What is no address is refused`(text: String) {
        #expect(ListenAddress(text) == nil)
    }
}
