// `--log` and what goes with it, wherever a stage meets a real log.

import EventLog
import Glibc
import KafkaLog
import Runtime
import SQLiteLog

/// Opens the log that a person has named.
enum LogOption {
    static let option = Option.text(
        "log", "LOG", default: "sqlite:adbrake.db", environment: "ADBRAKE_LOG",
        help: "where the log is: sqlite:PATH, or kafka:HOST:PORT,HOST:PORT")
    private static let partitions = Option.integer(
        "partitions", in: 0...256, default: 0,
        help: "partitions of an SQLite log, fixed for its life; 0: those it has, 16 for a new one")
    private static let kafkaConfig = Option.optional(
        "kafka-config", "FILE", environment: "ADBRAKE_KAFKA_CONFIG",
        help: "librdkafka's properties, name=value a line: TLS, SASL and the rest")
    private static let prefix = Option.text(
        "prefix", "TEXT", default: KafkaSettings.defaultPrefix, environment: "ADBRAKE_PREFIX",
        help: "what the names of topics, groups and transactions in Kafka begin with")
    private static let instance = Option.optional(
        "instance", "NAME", environment: "ADBRAKE_INSTANCE",
        help: "tells the processes of a fleet apart; by default the name of the host")
    private static let startTimeout = Option.milliseconds(
        "start-timeout", in: 1_000...3_600_000, default: 60_000,
        help: "how long a start waits for a Kafka that cannot be reached")

    /// For everything that talks to Kafka.
    static let kafkaOptions: [any DeclaredOption] = [kafkaConfig, prefix, instance, startTimeout]
    static let options: [any DeclaredOption] = [option, partitions] + kafkaOptions

    /// Opens the log of a stage; an SQLite file that is not there is made.
    static func open(_ command: ParsedCommand, logger: Logger) throws -> any EventLog {
        switch try Place(command[option]) {
        case .sqlite(let path):
            let count = command[partitions]
            return try SQLiteLog(path: path, partitions: count == 0 ? nil : count)
        case .kafka(let bootstrap):
            return try KafkaLog(kafkaSettings(command, bootstrap, logger: logger))
        }
    }

    /// Opens a log that has to be there, to read it.
    static func open(
        existing text: String, _ command: ParsedCommand, logger: Logger
    ) throws -> any EventLog {
        switch try Place(text) {
        case .sqlite(let path):
            guard unsafe access(path, F_OK) == 0 else {
                throw Refusal(
                    problem: "--log \(text): there is no such file",
                    hint: "give the path that `adbrake run` was started with.")
            }
            return try SQLiteLog(path: path)
        case .kafka(let bootstrap):
            return try KafkaLog(kafkaSettings(command, bootstrap, logger: logger))
        }
    }

    /// The settings of a log in Kafka, nil for another log.
    static func kafkaSettings(_ command: ParsedCommand, logger: Logger) throws -> KafkaSettings? {
        guard case .kafka(let bootstrap) = try Place(command[option]) else { return nil }
        return try kafkaSettings(command, bootstrap, logger: logger)
    }

    private static func kafkaSettings(
        _ command: ParsedCommand, _ bootstrap: String, logger: Logger
    ) throws -> KafkaSettings {
        var settings = KafkaSettings(bootstrap: bootstrap)
        settings.prefix = command[prefix]
        if let name = command[instance] { settings.instance = name }
        if let path = command[kafkaConfig] {
            settings.properties = try KafkaProperties.read(path: path)
        }
        settings.startTimeoutMilliseconds = command[startTimeout]
        let logger = logger.named("kafka")
        settings.log = { line in
            let level: LogLevel = line.level <= 3 ? .error : line.level == 4 ? .warning : .debug
            logger.log(
                level, "librdkafka",
                ["facility": .text(line.facility), "line": .text(line.message)])
        }
        return settings
    }

    /// What `--log` names.
    private enum Place {
        case sqlite(path: String)
        case kafka(bootstrap: String)

        init(_ text: String) throws {
            let parts = text.split(separator: ":", maxSplits: 1)
            switch parts.first {
            case "sqlite" where parts.count == 2: self = .sqlite(path: String(parts[1]))
            case "kafka" where parts.count == 2: self = .kafka(bootstrap: String(parts[1]))
            default:
                throw Refusal(
                    problem: "--log \(text): not a log that adbrake knows",
                    hint: "give sqlite:PATH, as sqlite:adbrake.db, or kafka:HOST:PORT.")
            }
        }
    }
}
