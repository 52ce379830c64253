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

    static let options: [any DeclaredOption] = [stale, validity, country, backup]

    static func edge(_ command: ParsedCommand, _ process: StageProcess) -> Edge {
        var settings = ServeSettings()
        settings.staleAfterMilliseconds = Int64(command[stale])
        settings.validityMilliseconds = Int64(command[validity])
        settings.countryHeader = command[country]
        settings.backupPath = command[backup]
        return Edge(
            log: process.log, settings: settings, logger: process.logger.named("serve"),
            metrics: process.metrics)
    }
}
