// `adbrake bench`: measures parts of the program on this machine.

import Runtime

enum BenchCommand: Subcommand {
    private static let part = Option.argument(
        "PART", choices: ["engine", "snapshot"],
        help: "what to measure: engine, the evaluator alone; snapshot, its state as bytes")

    static let syntax = CommandSyntax(
        "bench", summary: "Measure a part of the program on this machine.",
        discussion: "Prints what was run and the median of five runs. Use a release build.",
        options: [part, PolicyOption.option],
        examples: [
            .init("adbrake bench engine", "decoded events a second on one core, bytes an app"),
            .init("adbrake bench snapshot", "the state of 250 000 apps: bytes, and how fast"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let policy = try PolicyOption.policy(command[PolicyOption.option])
        let bench = BenchEngine(policy: policy)
        if command[part] == "snapshot" { bench.runSnapshot() } else { bench.run() }
        return 0
    }
}
