// Subcommands whose work lives in a target of its own.

import Runtime
import Traffic
import Watch

/// A fleet that sends.
enum TrafficSubcommand: Subcommand {
    static var syntax: CommandSyntax { TrafficCommand.syntax }

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let stop = StopSignal()
        let signals = Signals(stop: stop)
        return try withExtendedLifetime(signals) { try TrafficCommand.run(command, stop: stop) }
    }
}

/// The changes of a fleet's states in words.
enum WatchSubcommand: Subcommand {
    static var syntax: CommandSyntax { WatchCommand.syntax }

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let stop = StopSignal()
        let signals = Signals(stop: stop)
        return try withExtendedLifetime(signals) { try WatchCommand.run(command, stop: stop) }
    }
}
