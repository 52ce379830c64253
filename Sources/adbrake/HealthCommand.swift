// `adbrake health`: whether a stage is well, for containers and scripts that have no other client.

import HTTPClient
import Runtime

enum HealthCommand: Subcommand {
    private static let edge = Option.text(
        "edge", "URL", default: "http://127.0.0.1:8080", environment: "ADBRAKE_EDGE",
        help: "the stage to ask: an edge, a collector or an evaluator")
    private static let limit = Option.milliseconds(
        "for", in: 100...60_000, default: 3_000, help: "how long an answer may take")

    static let syntax = CommandSyntax(
        "health", summary: "Ask a stage whether it is well; exit status 0 or 1.",
        discussion: """
            Asks /readyz, and where there is none, as at a collector, /livez. Tells what is wrong.
            """,
        options: [edge, limit],
        examples: [
            .init("adbrake health", "of adbrake run"),
            .init("adbrake health --edge http://127.0.0.1:8083", "of adbrake serve"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        var base = command[edge]
        while base.hasSuffix("/") { base.removeLast() }
        let connection = HTTPConnection(limits: HTTPLimits(totalMilliseconds: command[limit]))
        var answer = try connection.send(HTTPRequest("GET", base + "/readyz"))
        if answer.status == 404 {
            answer = try connection.send(HTTPRequest("GET", base + "/livez"))
        }
        let text = String(decoding: answer.body, as: UTF8.self).filter { !$0.isNewline }
        guard answer.status == 200 else {
            throw Refusal(
                problem: "\(base) answers \(answer.status): \(text)",
                hint: "its log says why; 503 of an edge: it is still reading the table.")
        }
        print(text)
        return 0
    }
}
