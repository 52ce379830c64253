// `adbrake topics`: makes the topics of a log in Kafka, and holds them to what they must be.

import EventLog
import KafkaLog
import Runtime

enum TopicsCommand: Subcommand {
    private static let verb = Option.argument(
        "VERB", choices: ["create", "check", "describe"],
        help: "create what is missing, check everything, or print how the topics are")
    /// The same name as every stage's, but there is no default: only Kafka has topics to make.
    private static let log = Option.required(
        "log", "kafka:HOST:PORT", environment: "ADBRAKE_LOG", help: "the brokers")
    private static let partitions = Option.integer(
        "partitions", in: 1...1_024, default: KafkaTopics.defaultPartitions,
        help: "partitions of the inputs, throttle, epoch and snapshot; fixed for their life")
    private static let replicas = Option.integer(
        "replicas", in: 1...15, default: 3, help: "copies of each record; 1 with a single broker")

    static let syntax = CommandSyntax(
        "topics", summary: "Make and check the topics of a log in Kafka.",
        discussion: """
            An SQLite log makes its topics by itself. In Kafka they are made once, with the settings \
            that exactly-once and compaction rest on; stages refuse to start on topics that differ, \
            and name the topic and both values.
            """,
        options: [verb, log] + LogOption.kafkaOptions
            + [partitions, replicas, StageProcess.logLevel],
        examples: [
            .init(
                "adbrake topics create --log kafka:localhost:9092 --replicas 1",
                "on a broker for development"),
            .init("adbrake topics check --log kafka:broker:9092", "exit status 1 when one differs"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let level = LogLevel(name: command[StageProcess.logLevel]) ?? .info
        let logger = Logger(part: "topics", level: level, to: StandardErrorSink())
        guard let settings = try LogOption.kafkaSettings(command, logger: logger) else {
            throw Refusal(
                problem:
                    "--log \(command[log]): only a log in Kafka has topics to make",
                hint: "give --log kafka:HOST:PORT.")
        }
        let topics = KafkaTopics(
            settings, partitions: command[partitions], replicas: command[replicas])
        switch command[verb] {
        case "create": try topics.create()
        case "check": try topics.check()
        default: return try describe(topics)
        }
        print("\(Topic.all.count) topics are as they must be")
        return 0
    }

    private static func describe(_ topics: KafkaTopics) throws -> Int32 {
        let found = try topics.describe()
        for topic in Topic.all {
            guard let description = found[topic] else {
                print("\(topic.name): does not exist")
                continue
            }
            let ours = topics.expected(topic).settings
            let settings = description.settings.filter { ours[$0.key] != nil }
                .sorted { $0.key < $1.key }
                .map { " \($0.key)=\($0.value)" }.joined()
            print(
                "\(topic.name): partitions=\(description.partitions)"
                    + " replicas=\(description.replicas)\(settings)")
        }
        return 0
    }
}
