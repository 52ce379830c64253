// The edge as `run` and `serve` start it.

import Runtime
import Serve

/// Options of the edge, and how it is made of them.
enum ServeOptions {
    private static let stale = Option.milliseconds(
        "stale-after", in: 2_500...3_600_000, default: 10_000,
        help: "without an epoch for so long, answers say that they are stale")
    private static let validity = Option.milliseconds(
        "validity", in: 10_000...86_400_000, default: 900_000,
        help: "without an epoch for so long, no answer is looser than Caution")
    private static let country = Option.text(
        "country-header", "NAME", default: "CF-IPCountry",
        help: "the header in which a proxy tells the country")
    private static let backup = Option.optional(
        "backup", "FILE", help: "keep the table in a file, to start from when the log is away")

    private static let bootstrap = Option.optional(
        "bootstrap", "FILE",
        help: "states to serve until the log has been read: what GET /v1/apps answered, or a "
            + "backup; read again when it changes")
    private static let streams = Option.integer(
        "streams", in: 0...100_000, default: 0,
        help: "the most clients of GET /v1/stream; 0: 10000 of serve, 500 of run, where each takes "
            + "a thread")

    static let options: [any DeclaredOption] = [
        stale, validity, country, backup, bootstrap, streams,
    ]

    /// How many streams there may be, in a stage that bears so many.
    static func streamsMax(_ command: ParsedCommand, usually: Int) -> Int {
        command[streams] == 0 ? usually : command[streams]
    }

    static func edge(
        _ command: ParsedCommand, _ process: StageProcess, streamsMax: Int
    ) throws -> Edge {
        var settings = ServeSettings()
        settings.staleAfterMilliseconds = Int64(command[stale])
        settings.validityMilliseconds = Int64(command[validity])
        settings.countryHeader = command[country]
        settings.backupPath = command[backup]
        settings.bootstrapPath = command[bootstrap]
        settings.streams.clientsMax = streamsMax
        let edge = Edge(
            log: process.log, settings: settings, logger: process.logger.named("serve"),
            metrics: process.metrics)
        try edge.checkBootstrap()
        return edge
    }
}
