// The program: which subcommands there are, and how one is run.

import Glibc
import Runtime

/// A subcommand: what it accepts, and what it does with that.
protocol Subcommand: SendableMetatype {
    static var syntax: CommandSyntax { get }
    /// Runs it and returns the exit status.
    static func run(_ command: ParsedCommand) throws -> Int32
}

/// Something a person can put right: printed as it is, exit status 1.
struct Refusal: Error, CustomStringConvertible {
    var problem: String
    var hint: String

    var description: String { "\(problem)\n\(hint)" }
}

@main
enum Program {
    static let version = "0.1.0"

    private static let subcommands: [any Subcommand.Type] = [
        RunCommand.self, CollectCommand.self, EvaluateCommand.self, ServeCommand.self,
        BridgeCommand.self,
        ReplayCommand.self, TrafficSubcommand.self, WatchSubcommand.self,
        AdminCommand.self, DeadCommand.self, TopicsCommand.self, HealthCommand.self,
        SimulateCommand.self, BenchCommand.self,
    ]

    private static let syntax = CommandLineSyntax(
        program: "adbrake", version: version,
        summary: "An event-sourced brake for mobile ads: it watches each app's crash-free rate and "
            + "moves the app between Normal, Caution, Throttle and Halt.",
        commands: subcommands.map { $0.syntax })

    static func main() {
        let environment = Environment.all()
        switch syntax.parse(Array(CommandLine.arguments.dropFirst()), environment: environment) {
        case .text(let text): print(text)
        case .usage(let error):
            StandardError.write("adbrake: \(error)\n")
            exit(UsageError.exitStatus)
        case .run(let command):
            guard let subcommand = subcommands.first(where: { $0.syntax.name == command.name })
            else { preconditionFailure("the syntax is made of the subcommands") }
            do {
                exit(try subcommand.run(command))
            } catch {
                StandardError.write("adbrake \(command.name): \(error)\n")
                exit(1)
            }
        }
    }
}

/// The variables of the process's environment.
enum Environment {
    static func all() -> [String: String] {
        var variables: [String: String] = [:]
        // The C library's own array, which nobody changes: no thread has been started yet.
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let parts = unsafe String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            unsafe entry += 1
        }
        return variables
    }
}
