// Subcommands whose work lives in a target of its own.

import Runtime
import Traffic

/// A fleet that sends.
enum TrafficSubcommand: Subcommand {
    static var syntax: CommandSyntax { TrafficCommand.syntax }

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let stop = StopSignal()
        let signals = Signals(stop: stop)
        return try withExtendedLifetime(signals) { try TrafficCommand.run(command, stop: stop) }
    }
}
