// `adbrake run`, `collect`, `evaluate`, `serve`: the stages, together or each on its own.

import HTTPServer
import Runtime
import Serve

/// All stages in one process.
enum RunCommand: Subcommand {
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8080),
        environment: "ADBRAKE_LISTEN", help: "where apps report and ask, and where the console is")

    static let syntax = CommandSyntax(
        "run",
        summary: "Run all stages in one process: collector, evaluator, edge and console.",
        discussion: """
            Apps send events to POST /v1/events and ask GET /v1/apps/APP for their state; people \
            look at /. Everything is kept in one log, by default a file in this folder. SIGTERM \
            stops cleanly; after a crash the next start goes on where the log ends, with nothing \
            lost or counted twice.
            """,
        options: [listen] + LogOption.options + EvaluateOptions.options + CollectOptions.options
            + ServeOptions.options + ListenerOptions.options + AdminOptions.options
            + [StageProcess.logLevel],
        examples: [
            .init("adbrake run", "everything on http://127.0.0.1:8080, the log in adbrake.db"),
            .init(
                "adbrake run --listen 0.0.0.0:8080 --keys keys.txt --log sqlite:/var/lib/adbrake/log.db",
                "on a server"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let address = command[listen]
        let gate = try CollectOptions.gate(command, address: address)
        var settings = try ListenerOptions.settings(command, address)
        let policy = try PolicyOption.policy(command[PolicyOption.option])
        let admin = try AdminOptions.plan(command)
        let process = try StageProcess(command)
        let streamsMax = ServeOptions.streamsMax(command, usually: 500)
        let edge = try ServeOptions.edge(command, process, streamsMax: streamsMax)
        let collector = CollectOptions.collector(gate, command, process)
        let services =
            EvaluateOptions.services(command, policy, process) + [edge.service] + collector.services
        settings.connectionsMax += streamsMax
        settings.answersVersion = edge.table.version
        // An upload waits for the log on its connection's thread; nobody else waits behind it.
        let listener = try process.listener(
            settings, collector.routes + edge.routes, threads: .perConnection)
        let desk = try admin.map {
            try AdminOptions.service($0, command, base: policy, process: process)
        }
        return process.run(services + [listener] + (desk.map { [$0] } ?? []))
    }
}

/// The gate alone.
enum CollectCommand: Subcommand {
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8081),
        environment: "ADBRAKE_LISTEN", help: "where apps report")

    static let syntax = CommandSyntax(
        "collect", summary: "Run the collector alone: events in over HTTP, records into the log.",
        discussion: """
            Apps send events to POST /v1/events; Sentry's SDKs and OpenTelemetry's exporters may \
            send to /api/PROJECT/envelope/ and /v1/logs. The answer comes once the log has them.
            """,
        options: [listen] + LogOption.options + CollectOptions.options + ListenerOptions.options
            + [StageProcess.logLevel],
        examples: [
            .init("adbrake collect --keys keys.txt", "take events into adbrake.db"),
            .init(
                "adbrake collect --keys keys.txt --tls-certificate cert.pem --tls-key key.pem",
                "HTTPS without a proxy"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let address = command[listen]
        let gate = try CollectOptions.gate(command, address: address)
        let settings = try ListenerOptions.settings(command, address)
        let process = try StageProcess(command)
        let collector = CollectOptions.collector(gate, command, process)
        let listener = try process.listener(
            settings, collector.routes + OperationsRoutes.routes(process.metrics),
            threads: .perConnection)
        return process.run(collector.services + [listener])
    }
}

/// The evaluator alone.
enum EvaluateCommand: Subcommand {
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8082),
        environment: "ADBRAKE_LISTEN", help: "where /livez and /metrics are")

    static let syntax = CommandSyntax(
        "evaluate",
        summary: "Run the evaluator alone: counts what the log has and decides at each tick.",
        discussion: """
            Begins where the last commit has left off: with the newest snapshot, and what came \
            after it. With --rebuild it takes no snapshot. Each partition is made from its epochs \
            and inputs: if all are there, every epoch is decided again and its checksum compared; \
            else states are those published, windows come from the inputs that retention has \
            left, and nothing is eased before an hour of them is there. The log tells what each \
            partition was made from and what was gone, fresh snapshots follow at once, and the \
            evaluator goes on live. A checksum that differs ends it with status 1, and nothing is \
            written. Each process rebuilds the partitions that it is given, each once.
            """,
        options: [listen] + LogOption.options + EvaluateOptions.options + [StageProcess.logLevel],
        examples: [
            .init("adbrake evaluate --policy mine.json", "decide by a policy of your own"),
            .init("adbrake evaluate --rebuild", "trust no snapshot, once"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let policy = try PolicyOption.policy(command[PolicyOption.option])
        let process = try StageProcess(command)
        let services = EvaluateOptions.services(command, policy, process)
        let listener = try process.listener(
            HTTPListener.Settings(address: command[listen]),
            OperationsRoutes.routes(process.metrics), threads: .pool(1))
        return process.run(services + [listener])
    }
}

/// The edge alone.
enum ServeCommand: Subcommand {
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8083),
        environment: "ADBRAKE_LISTEN", help: "where apps ask, and where the console is")

    static let syntax = CommandSyntax(
        "serve", summary: "Run an edge alone: states and caps out over HTTP, with the console.",
        options: [listen] + LogOption.options + ServeOptions.options + ListenerOptions.options
            + AdminOptions.options + [PolicyOption.option, StageProcess.logLevel],
        examples: [
            .init("adbrake serve --listen 0.0.0.0:80", "a replica; it needs only the log"),
            .init(
                "adbrake serve --admin-listen 127.0.0.1:8090 --admin-tokens tokens.txt",
                "one on which people decide, too; --policy as of the evaluators, for dry runs"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        var settings = try ListenerOptions.settings(command, command[listen])
        let admin = try AdminOptions.plan(command)
        let policy = try PolicyOption.policy(command[PolicyOption.option])
        let process = try StageProcess(command)
        let streamsMax = ServeOptions.streamsMax(command, usually: 10_000)
        let edge = try ServeOptions.edge(command, process, streamsMax: streamsMax)
        settings.connectionsMax += streamsMax
        settings.answersVersion = edge.table.version
        let listener = try process.listener(settings, edge.routes, threads: .pool(2))
        let desk = try admin.map {
            try AdminOptions.service($0, command, base: policy, process: process)
        }
        return process.run([edge.service, listener] + (desk.map { [$0] } ?? []))
    }
}

/// What a stage without a public address answers.
enum OperationsRoutes {
    static func routes(_ metrics: Metrics) -> [Route] {
        [
            Route(.get, "/livez") { _ in .text("ok\n").with("Cache-Control", "no-store") },
            Route(.get, "/metrics") { _ in
                .text(metrics.rendered(), type: Metrics.contentType)
                    .with("Cache-Control", "no-store")
            },
        ]
    }
}
