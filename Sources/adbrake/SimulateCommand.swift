// `adbrake simulate`: the stages in a seeded world full of faults.

import Runtime
import Simulation

enum SimulateCommand: Subcommand {
    private static let progressMilliseconds: Int64 = 500
    /// In a file, where every progress is a line.
    private static let progressLineMilliseconds: Int64 = 20_000

    private static let seeds = Option.integer(
        "seeds", in: 1...100_000_000, default: 1_000, help: "how many worlds")
    private static let seed = Option.integer(
        "seed", in: 0...Int.max, default: 1, help: "the first one's seed; the others follow")
    private static let canary = Option.choice(
        "canary", Canary.allCases.map(\.rawValue) + ["none"], default: "none",
        help: "plant this fault, to see that it is found")

    static let syntax = CommandSyntax(
        "simulate",
        summary: "Run evaluator lanes and edges in a simulated world full of faults.",
        discussion: """
            Each seed makes a world of its own: apps, a log in memory, lanes, edges, and a mix of \
            faults, such as crashes, zombies, commits in doubt, partitions that move, late inputs, \
            damaged snapshots, inputs deleted by age, older states written over newer ones, and \
            clocks that jump. All of it runs in one thread, and the same \
            seed does the same again. When it is quiet, the log is checked: every decision is \
            computed again by an evaluator of its own, replays and snapshots lead to the same \
            states, nothing is lost, doubled or out of order, and every edge serves the last \
            state.

            The first seed in which something is wrong ends the run, with exit status 1.
            """,
        options: [seeds, seed, canary],
        examples: [
            .init("adbrake simulate --seeds 10000", "ten thousand worlds"),
            .init("adbrake simulate --seeds 1 --seed 4711", "one of them again"),
            .init(
                "adbrake simulate --seeds 50 --canary doubled-commit",
                "a fault that must be found"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let planted = Canary(rawValue: command[canary])
        let count = UInt64(command[seeds])
        var run = SimulationRun(from: UInt64(command[seed]), canary: planted)
        let begun = SystemClock.monotonicMilliseconds()
        var shownAt = begun
        let isTerminal = StandardError.isTerminal
        let pause = isTerminal ? progressMilliseconds : progressLineMilliseconds
        while run.seeds < count, run.next() {
            let now = SystemClock.monotonicMilliseconds()
            guard now - shownAt >= pause else { continue }
            shownAt = now
            let text = "\(run.seeds) of \(count) seeds, \(run.figures.epochs) epochs"
            StandardError.write(isTerminal ? "\r\(text) " : text + "\n")
        }
        if isTerminal { StandardError.write("\r") }
        print(run.summary)
        print("in \((SystemClock.monotonicMilliseconds() - begun + 500) / 1_000) s")
        guard let failure = run.failure else { return 0 }
        let again = planted.map { " --canary \($0.rawValue)" } ?? ""
        print("\nseed \(failure.seed) failed")
        for finding in failure.findings { print("  \(finding)") }
        print("again with: adbrake simulate --seeds 1 --seed \(failure.seed)\(again)")
        return 1
    }
}
