// `adbrake traffic`: the options, and what they become.
internal import Glibc
package import Runtime

/// The subcommand.
package enum TrafficCommand {
    private static let collector = Option.text(
        "collector", "URL", default: "http://127.0.0.1:8080", help: "where to send events")
    private static let edge = Option.optional(
        "edge", "URL", help: "where to ask for states, when not at the collector's address")
    private static let scenario = Option.text(
        "scenario", "NAME|FILE", default: "calm",
        help: "what goes wrong: \(Scenario.builtIn.map(\.name).joined(separator: ", ")), or a file")
    private static let apps = Option.integer(
        "apps", in: 1...FleetSettings.appsMax, default: 6, help: "how many apps")
    private static let rate = Option.integer(
        "rate", in: 1...2_000_000, default: 100,
        help: "events per second to come to; the number of devices follows")
    private static let speed = Option.integer(
        "speed", in: 1...100, default: 1,
        help: "seconds of the fleet's life per second; times in records stay real")
    private static let batch = Option.integer(
        "batch", in: 0...FleetSettings.batchMax, default: 0,
        help: "events per upload, through a relay; 0: each device uploads its own")
    private static let duration = Option.milliseconds(
        "duration", in: 0...604_800_000, default: 0, help: "how long; 0: until stopped")
    private static let seed = Option.optional(
        "seed", "N", help: "the same seed gives the same fleet; by default another one each time")
    private static let key = Option.optional(
        "key", "TOKEN", environment: "ADBRAKE_APP_KEY", help: "the app key to send with")
    private static let connections = Option.integer(
        "connections", in: 1...TrafficSettings.connectionsMax, default: 4,
        help: "uploads under way at once")
    private static let feedback = Option.flag(
        "feedback", help: "devices ask the edge for their app's state, and obey it")
    private static let report = Option.optional(
        "report", "FILE", help: "write the totals, and what each app must count, as JSON")
    private static let quiet = Option.flag("quiet", help: "no progress, only the summary")

    package static let syntax = CommandSyntax(
        "traffic", summary: "Play a fleet of apps into a collector.",
        discussion: """
            A seeded fleet of apps on devices with drifting clocks, lost answers, late uploads and
            crashes that are reported at the next launch. A scenario says what goes wrong and when.
            """,
        options: [
            collector, edge, scenario, apps, rate, speed, batch, duration, seed, key, connections,
            feedback, report, quiet,
        ],
        examples: [
            .init("adbrake traffic --scenario ad-sdk-crash --feedback", "a fleet that obeys"),
            .init(
                "adbrake traffic --rate 100000 --batch 500 --speed 20 --apps 1000",
                "as much as one collector can be asked to take"),
        ])

    /// Runs until the duration is over or `stop` is requested; returns the exit status.
    package static func run(_ command: ParsedCommand, stop: StopSignal) throws -> Int32 {
        let settings = try settings(command)
        var run = TrafficRun(settings)
        var progress = TrafficProgress(settings.fleet, isQuiet: command[quiet])
        progress.begin(settings)
        let summary = run.run(stop: stop) { progress.show($0) }
        progress.end(summary)
        if let path = command[report] { try TextFile.write(summary.json(), to: path) }
        return summary.status.totals.isRefused ? 1 : 0
    }

    private static func settings(_ command: ParsedCommand) throws -> TrafficSettings {
        let seed = try seed(command)
        let fleet = FleetSettings(
            scenario: try scenario(command[scenario]), seed: seed,
            start: SystemClock.wallMilliseconds(), apps: command[apps],
            eventsPerSecond: Double(command[rate]), speed: Double(command[speed]),
            batch: command[batch])
        var settings = TrafficSettings(
            fleet: fleet, collector: try address(command[collector], of: "--collector"),
            edge: try command[edge].map { try address($0, of: "--edge") })
        settings.durationMilliseconds = command[duration]
        settings.key = command[key]
        settings.connections = command[connections]
        settings.hasFeedback = command[feedback]
        return settings
    }

    private static func seed(_ command: ParsedCommand) throws(UsageError) -> UInt64 {
        guard let text = command[seed] else {
            return UInt64(SystemClock.wallMilliseconds()) % 1_000_000_007
        }
        guard let seed = UInt64(text) else {
            throw usage("--seed is `\(text)`", "Expected a whole number from 0.")
        }
        return seed
    }

    private static func scenario(_ word: String) throws -> Scenario {
        if let scenario = Scenario.builtIn(named: word) { return scenario }
        guard word.contains("/") || word.contains(".") else {
            let names = Scenario.builtIn.map(\.name).joined(separator: ", ")
            throw usage("there is no scenario `\(word)`", "Built in: \(names); or name a file.")
        }
        do {
            return try Scenario(json: try TextFile.read(word, bytesMax: Scenario.fileBytesMax))
        } catch let problems as ScenarioProblems {
            throw usage(
                "the scenario in \(word) cannot be used:\n\(problems)",
                "ops/scenarios/README.md explains the format.")
        }
    }

    /// An address without a path, as the paths are known.
    private static func address(_ text: String, of option: String) throws(UsageError) -> String {
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
            throw usage(
                "\(option) is `\(text)`", "Expected an address such as http://127.0.0.1:8080.")
        }
        return text
    }

    private static func usage(_ problem: String, _ hint: String) -> UsageError {
        UsageError(problem: problem, hint: hint)
    }
}
