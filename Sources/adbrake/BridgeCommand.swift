// `adbrake bridge remote-config`: states into what apps already read.

import BrakeModel
import Bridge
import HTTPServer
import Runtime

enum BridgeCommand: Subcommand {
    private static let kind = Option.argument(
        "KIND", choices: ["remote-config"], help: "where to: remote-config is Firebase's")
    private static let listen = Option.address(
        "listen", default: ListenAddress(host: "127.0.0.1", port: 8086),
        environment: "ADBRAKE_LISTEN", help: "where /livez and /metrics are")
    private static let account = Option.required(
        "service-account", "FILE", environment: "GOOGLE_APPLICATION_CREDENTIALS",
        help: "the key file of a service account with the role Firebase Remote Config Admin")
    private static let project = Option.optional(
        "project", "ID", help: "the Firebase project; by default that of the service account")
    private static let apps = Option.list(
        "app", "APP[=FIREBASE_ID]",
        help: "an app whose state to publish: alone as the default value, with its Firebase id, "
            + "as 1:1234:ios:abcd, under a condition of its own")
    private static let parameter = Option.text(
        "parameter", "NAME", default: BridgeSettings.parameterName, help: "the parameter to keep")
    private static let spacing = Option.milliseconds(
        "every", in: 1_000...86_400_000, default: 60_000,
        help: "at most one version in so long, unless a state becomes stricter")
    private static let validity = Option.milliseconds(
        "validity", in: 10_000...86_400_000, default: 900_000,
        help: "without an epoch for so long, nothing looser than Caution is published")
    private static let api = Option.text(
        "api", "URL", default: "https://firebaseremoteconfig.googleapis.com",
        help: "where the service is")

    static let syntax = CommandSyntax(
        "bridge",
        summary: "Publish states in Firebase Remote Config, for apps that read it already.",
        discussion: """
            Keeps one parameter at the state of an app, or of several apps of a project. All else \
            in the template stays as it is, byte for byte; what somebody sets by hand in the \
            parameter stays, too, until it is deleted or set to what the brake says. A state that \
            becomes stricter is published at once, others at most once a minute.
            """,
        options: [kind, account, project, apps, parameter, spacing, validity, api, listen]
            + LogOption.options + [StageProcess.logLevel],
        examples: [
            .init(
                "adbrake bridge remote-config --service-account key.json --app my.app",
                "one app: its state is the default value"),
            .init(
                "adbrake bridge remote-config --service-account key.json "
                    + "--app my.ios=1:1234:ios:abcd --app my.android=1:1234:android:ef01",
                "two apps of one project, each under a condition"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let settings = try settings(command)
        let process = try StageProcess(command)
        let stop = process.stop
        let service = Service("bridge") { serviceStop in
            // Belongs to this thread.
            let bridge = RemoteConfigBridge(
                log: process.log, settings: settings, logger: process.logger.named("bridge"),
                metrics: process.metrics,
                isCancelled: { serviceStop.isRequested || stop.isRequested })
            try bridge.run(stop: serviceStop)
        }
        let listener = try process.listener(
            HTTPListener.Settings(address: command[listen]),
            OperationsRoutes.routes(process.metrics), threads: .pool(1))
        return process.run([service, listener])
    }

    private static func settings(_ command: ParsedCommand) throws -> BridgeSettings {
        let bytes = try InputFile.contents(of: command[account], bytesMax: ServiceAccount.bytesMax)
        let account = try ServiceAccount(file: bytes)
        guard let project = command[project] ?? account.project else {
            throw Refusal(
                problem: "the service account names no project", hint: "give --project ID.")
        }
        var api = command[api]
        while api.hasSuffix("/") { api.removeLast() }
        var settings = BridgeSettings(account: account, project: project, api: api)
        settings.parameter = command[parameter]
        settings.spacingMilliseconds = Int64(command[spacing])
        settings.validityMilliseconds = Int64(command[validity])
        try addApps(command[apps], to: &settings)
        return settings
    }

    private static func addApps(
        _ words: [String], to settings: inout BridgeSettings
    ) throws {
        func refusal(_ word: String, _ problem: String) -> Refusal {
            Refusal(
                problem: "--app \(word): \(problem)",
                hint: "give --app my.app, or --app my.app=1:1234:ios:abcd as Firebase shows it.")
        }
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let app = AppID(parts[0]) else { throw refusal(word, "no app id") }
            guard parts.count == 2 else {
                guard settings.usual == nil else {
                    throw refusal(word, "there is one default value, and an app for it already")
                }
                settings.usual = app
                continue
            }
            guard BridgeSettings.isFirebaseID(parts[1]) else {
                throw refusal(word, "no Firebase app id")
            }
            guard !settings.apps.contains(where: { $0.app == app }) else {
                throw refusal(word, "given twice")
            }
            settings.apps.append((app, String(parts[1])))
        }
        guard settings.usual != nil || !settings.apps.isEmpty else {
            throw Refusal(
                problem: "no app to publish the state of",
                hint: "give --app my.app, or --app my.app=1:1234:ios:abcd as Firebase shows it.")
        }
    }
}
