// `adbrake admin`: see what people have decided, and decide, from the command line.

import BrakeWire
import HTTPClient
import Runtime

/// Asks the admin listener: it knows who asks, checks what is asked, and is the one place that
/// writes. So a person needs a token and no right on the log, and nobody can sign for another.
enum AdminCommand: Subcommand {
    private static let verbs = [
        "list", "history", "pin", "at-least", "at-most", "release", "policy", "policy-remove",
        "assign", "unassign", "cap", "cap-remove",
    ]
    private static let verb = Option.argument(
        "VERB", choices: verbs, help: "what to do; see above")
    private static let url = Option.text(
        "admin", "URL", default: "http://127.0.0.1:8090", environment: "ADBRAKE_ADMIN",
        help: "the admin listener: --admin-listen of run or serve")
    private static let tokenFile = Option.optional(
        "token-file", "FILE", environment: "ADBRAKE_ADMIN_TOKEN_FILE",
        help: "a file with your token and nothing else")
    private static let authority = Option.optional(
        "ca", "FILE", environment: "ADBRAKE_ADMIN_CA",
        help: "the certificates to trust, PEM, if the listener's is none that the system trusts")
    private static let reason = Option.optional(
        "reason", "TEXT", help: "why; needed for every change, kept with it for ever")
    private static let app = Option.optional(
        "app", "APP", help: "an app id; * means all apps, and has to be said")
    private static let state = Option.optional(
        "state", "STATE", help: "Normal, Caution, Throttle or Halt")
    private static let time = Option.milliseconds(
        "for", in: 0...366 * 86_400_000, default: 0,
        help: "how long an override holds; 0: until it is released")
    private static let policy = Option.optional(
        "policy", "NAME|FILE", help: "a policy: a document to set, or a name to assign or remove")
    private static let apps = Option.optional(
        "apps", "PATTERN", help: "an app id in which * stands for any characters")
    private static let country = Option.text(
        "country", "CC", default: "*", help: "two letters; * means all")
    private static let perHour = Option.optional(
        "per-hour", "N", help: "the base cap of an hour, at most that of the day")
    private static let perDay = Option.optional(
        "per-day", "N", help: "the base cap of a day, at most 10000")
    private static let dryRun = Option.flag(
        "dry-run",
        help: "change nothing: show which apps would have gone another way in the last hour")
    private static let limit = Option.integer(
        "limit", in: 1...1_000, default: 20, help: "how many lines of history")

    static let syntax = CommandSyntax(
        "admin", summary: "Decide what holds: overrides, policies, caps; and see who decided what.",
        discussion: """
            list                    all that holds, with who, when and why
            history                 the last decisions, newest first
            pin, at-least, at-most  hold an app, or all, to --state: exactly, or as a bound
            release                 end the override of --app
            policy                  set the policy document --policy FILE
            policy-remove           take back the policy --policy NAME
            assign, unassign        the policy --policy NAME to the apps that fit --apps
            cap, cap-remove         base caps of --app in --country

            Everything goes through the admin listener of `adbrake run` or `serve`, started with \
            --admin-listen and --admin-tokens. It holds what is asked against everything that can \
            be wrong with it, and signs it with the name of your token. An override holds until \
            its time is over or it is released, over restarts too; the brake goes on computing \
            beneath it.
            """,
        options: [
            verb, url, tokenFile, authority, reason, app, state, time, policy, apps, country,
            perHour, perDay, dryRun, limit,
        ],
        examples: [
            .init(
                "adbrake admin pin --app my.app --state Halt --for 2h --reason \"SDK 9 burns\"",
                "stop the ads of an app for two hours"),
            .init(
                "adbrake admin at-least --app '*' --state Caution --reason \"release night\"",
                "no app is looser than Caution"),
            .init("adbrake admin release --app my.app --reason \"fixed\"", "the rules hold again"),
            .init(
                "adbrake admin policy --policy games.json --reason \"games\" --dry-run",
                "what a new version of a policy would have done"),
            .init(
                "adbrake admin assign --apps 'com.acme.*' --policy games --reason \"games\"",
                "a policy for some apps"),
            .init(
                "adbrake admin cap --app '*' --country DE --per-hour 2 --per-day 6 --reason calm",
                "base caps of a country"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        guard let path = command[tokenFile] else {
            throw Refusal(
                problem: "no token", hint: "give --token-file, or ADBRAKE_ADMIN_TOKEN_FILE.")
        }
        let bytes = try InputFile.contents(of: path, bytesMax: 4_096)
        let token =
            String(decoding: bytes, as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        let desk = AdminClient(
            url: command[url], token: token, authorityPath: command[authority])
        switch command[verb] {
        case "list": try AdminText.list(desk.get("/v1/control")).forEach { print($0) }
        case "history":
            let answer = try desk.get("/v1/control/history?limit=\(command[limit])")
            AdminText.history(answer).forEach { print($0) }
        default:
            let decision = try body(command)
            let target = command[dryRun] ? "/v1/control?dry_run=1" : "/v1/control"
            let answer = try desk.post(target, decision)
            (command[dryRun] ? AdminText.rehearsal(answer) : [AdminText.decided(answer)])
                .forEach { print($0) }
        }
        return 0
    }

    // MARK: What is asked

    private static func body(_ command: ParsedCommand) throws -> [UInt8] {
        let reason = try needed(command, reason)
        return try JSONDocument.object { body in
            try write(command, into: &body)
            body.field("reason", reason)
        }
    }

    private static func write(_ command: ParsedCommand, into body: inout JSONWriter) throws {
        switch command[verb] {
        case "pin", "at-least", "at-most":
            body.field("type", "override")
            body.field("app", try needed(command, app))
            body.field("mode", command[verb] == "pin" ? "pin" : command[verb].underlined)
            body.field("state", try needed(command, state))
            if command[time] > 0 {
                body.field("expires_at", SystemClock.wallMilliseconds() + Int64(command[time]))
            }
        case "release":
            body.field("type", "override")
            body.field("app", try needed(command, app))
            body.field("removed", true)
        case "policy":
            let (name, document) = try PolicyOption.document(try needed(command, policy))
            body.field("type", "policy")
            body.field("name", name)
            body.key("document")
            body.write(document)
        case "policy-remove":
            body.field("type", "policy")
            body.field("name", try needed(command, policy))
            body.field("removed", true)
        case "assign", "unassign":
            body.field("type", "assignment")
            body.field("apps", try needed(command, apps))
            if command[verb] == "assign" {
                body.field("policy", try needed(command, policy))
            } else {
                body.field("removed", true)
            }
        default:
            body.field("type", "cap")
            body.field("app", try needed(command, app))
            body.field("country", command[country])
            if command[verb] == "cap-remove" { return body.field("removed", true) }
            body.field("per_hour", try number(command, perHour))
            body.field("per_day", try number(command, perDay))
        }
    }

    private static func number(
        _ command: ParsedCommand, _ option: Option<String?>
    ) throws -> Int {
        let text = try needed(command, option)
        if let number = Int(text) { return number }
        throw Refusal(
            problem: "\(option.declaration.label) \(text): expected a whole number",
            hint: "as \(option.declaration.label) 3.")
    }

    private static func needed(
        _ command: ParsedCommand, _ option: Option<String?>
    ) throws -> String {
        if let value = command[option] { return value }
        throw Refusal(
            problem: "\(command[verb]) needs \(option.declaration.label)",
            hint: "adbrake admin --help has an example.")
    }
}

extension String {
    fileprivate var underlined: String { String(map { $0 == "-" ? "_" : $0 }) }
}

/// Documents whose fields may turn out to be missing while they are written.
enum JSONDocument {
    static func object(_ body: (inout JSONWriter) throws -> Void) throws -> [UInt8] {
        var failure: (any Error)?
        let bytes = JSONWriter.bytes { document in
            document.object { document in
                do { try body(&document) } catch { failure = error }
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

/// The admin listener as a person's program asks it.
struct AdminClient {
    private static let limitMilliseconds = 90_000

    let base: String
    let token: String
    private let connection: HTTPConnection

    init(url: String, token: String, authorityPath: String?) {
        var base = url
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.token = token
        connection = HTTPConnection(
            limits: HTTPLimits(totalMilliseconds: AdminClient.limitMilliseconds),
            authorityPath: authorityPath)
    }

    func get(_ target: String) throws -> JSONValue { try send("GET", target, nil) }

    func post(_ target: String, _ body: [UInt8]) throws -> JSONValue {
        try send("POST", target, body)
    }

    private func send(_ method: String, _ target: String, _ body: [UInt8]?) throws -> JSONValue {
        let request = HTTPRequest(
            method, base + target, headers: [("Authorization", "Bearer \(token)")], body: body)
        let answer = try connection.send(request)
        let document = DocumentReader(bytesMax: HTTPLimits().bodyBytesMax).read(answer.body)
        guard (200..<300).contains(answer.status), let document else {
            throw refusal(answer.status, document)
        }
        return document
    }

    private func refusal(_ status: Int, _ document: JSONValue?) -> Refusal {
        let problems = document?["problems"]?.array ?? []
        let list = problems.map { item in
            let path = item["path"]?.text ?? ""
            return "\n  - \(path.isEmpty ? "" : path + ": ")\(item["text"]?.text ?? "")"
        }
        let text =
            list.isEmpty
            ? document?["error"]?.text ?? "\(base) answers \(status)"
            : "this cannot be decided:" + list.joined()
        // Every other listener of ours knows no such path either.
        let isElsewhere = status == 404 || document == nil
        let hint = isElsewhere ? nil : document?["hint"]?.text
        return Refusal(
            problem: text,
            hint: hint ?? "is \(base) what --admin-listen says? --admin names the listener to ask.")
    }
}
