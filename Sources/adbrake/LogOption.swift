// `--log`, wherever a stage meets a real log.

import EventLog
import Glibc
import Runtime
import SQLiteLog

/// Opens the log that a person has named.
enum LogOption {
    static let option = Option.text(
        "log", "sqlite:PATH", default: "sqlite:adbrake.db", environment: "ADBRAKE_LOG",
        help: "where the log is")
    static let partitions = Option.integer(
        "partitions", in: 0...256, default: 0,
        help: "partitions of a log; fixed for its life. 0: those it has, 16 for a new one")

    static let options: [any DeclaredOption] = [option, partitions]

    static func open(_ command: ParsedCommand) throws -> any EventLog {
        let count = command[partitions]
        return try open(command[option], partitions: count == 0 ? nil : count)
    }

    /// Opens a log that has to be there, to read it.
    static func open(existing text: String) throws -> any EventLog {
        let path = try path(text)
        guard unsafe access(path, F_OK) == 0 else {
            throw Refusal(
                problem: "--log \(text): there is no such file",
                hint: "give the path that `adbrake run` was started with.")
        }
        return try open(text, partitions: nil)
    }

    private static func open(_ text: String, partitions: Int?) throws -> any EventLog {
        try SQLiteLog(path: try path(text), partitions: partitions)
    }

    private static func path(_ text: String) throws -> String {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0] == "sqlite" else {
            throw Refusal(
                problem: "--log \(text): not a log that adbrake knows",
                hint: "give sqlite:PATH, as sqlite:adbrake.db.")
        }
        return String(parts[1])
    }
}
