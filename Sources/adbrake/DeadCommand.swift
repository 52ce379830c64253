// `adbrake dead`: what could not be used, why, and trying it again.

import BrakeModel
import BrakeWire
import DeadLetters
import EventLog
import Glibc
import Runtime

enum DeadCommand: Subcommand {
    private static let everything = "any"
    private static let keptMilliseconds = 7 * 86_400_000

    private static let verb = Option.argument(
        "VERB", choices: ["list", "show", "count", "retry"],
        help: "list the last letters, show one whole, count them, or retry them")
    private static let number = Option.optionalArgument(
        "NUMBER", help: "this letter alone, by the number that list tells")
    private static let app = Option.optional("app", "APP", help: "only letters of this app")
    private static let reason = Option.choice(
        "reason", [everything] + Rejection.allCases.map(\.rawValue), default: everything,
        help: "only letters with this reason")
    private static let topic = Option.choice(
        "topic", [everything] + Topic.inputs.map(\.name) + ["upload", "app"], default: everything,
        help: "only letters of this input; upload: refused by the collector; app: one too many")
    private static let stage = Option.choice(
        "stage", [everything] + DeadLetter.Stage.allCases.map(\.rawValue), default: everything,
        help: "only letters that this stage has written")
    private static let since = Option.milliseconds(
        "since", in: 1_000...keptMilliseconds * 5, default: keptMilliseconds,
        help: "only letters written so long ago at most; Kafka may keep older ones")
    private static let limit = Option.integer(
        "limit", in: 1...100_000, default: 50, help: "of list: the last so many")
    private static let key = Option.choice(
        "by", DeadCount.Key.allCases.map(\.rawValue), default: "reason",
        help: "of count: what is counted together")
    private static let rehearsal = Option.flag(
        "dry-run", help: "of retry: tell what would be done, change nothing")
    private static let json = Option.flag("json", help: "JSON, one object a line")

    static let syntax = CommandSyntax(
        "dead", summary: "Look at what could not be used, and retry it after a fix.",
        discussion: """
            The collector and the evaluator set aside what they cannot use, with its reason and \
            its first kilobyte, for seven days.

            After a fix, retry appends what can be used by now to the inputs again, in order, with \
            the times that it would have had. Each letter is retried once at most, however often \
            the command is run or broken off: what was retried is marked in the same atomic \
            append. What is longer than a letter keeps is read from its input, while that still \
            has it. Letters with the reason wrong_app are left out unless --reason asks for them: \
            they came under another app's key.
            """,
        options: [
            verb, number, app, reason, topic, stage, since, limit, key, rehearsal, json,
            LogOption.option,
        ] + LogOption.kafkaOptions,
        examples: [
            .init("adbrake dead count --by app", "who sends what cannot be used"),
            .init("adbrake dead list --reason bad_time", "the last of them"),
            .init("adbrake dead show 17", "all that is known of one"),
            .init("adbrake dead retry --reason bad_time --dry-run", "what a retry would do"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let filter = try filter(command)
        if command[verb] == "show", filter.number == nil {
            throw Refusal(
                problem: "show which letter?", hint: "adbrake dead list tells their numbers.")
        }
        let log = try LogOption.open(
            existing: command[LogOption.option], command,
            logger: Logger(part: "dead", level: .warning, to: StandardErrorSink()))
        defer { log.close() }
        switch command[verb] {
        case "count": try count(command, log, filter)
        case "retry": try retry(command, log, filter)
        case "show": return try show(command, log, filter)
        default: try list(command, log, filter)
        }
        return 0
    }

    private static func filter(_ command: ParsedCommand) throws -> DeadFilter {
        var filter = DeadFilter()
        if let text = command[app] {
            guard let app = AppID(text) else {
                throw Refusal(
                    problem: "--app \(text): not an app id",
                    hint: "1 to 64 of A-Z a-z 0-9 . _ - are.")
            }
            filter.app = app
        }
        if let text = command[number] {
            guard let number = Int64(text), number >= 0 else {
                throw Refusal(
                    problem: "\(text) is no letter's number",
                    hint: "adbrake dead list tells their numbers.")
            }
            filter.number = number
        }
        filter.reason = Rejection(rawValue: command[reason])
        filter.stage = DeadLetter.Stage(rawValue: command[stage])
        if command[topic] != everything { filter.topic = command[topic] }
        if command[since] != keptMilliseconds {
            filter.since = SystemClock.wallMilliseconds() - Int64(command[since])
        }
        return filter
    }

    private static func list(
        _ command: ParsedCommand, _ log: any EventLog, _ filter: DeadFilter
    ) throws {
        let list = try DeadList(log, filter: filter, limit: command[limit])
        if command[json] {
            for letter in list.letters {
                try StandardOutput.write(letter.stored.json(isRetried: letter.isRetried))
            }
            return
        }
        if !list.letters.isEmpty { print(StoredLetter.head) }
        for letter in list.letters { print(letter.stored.line(isRetried: letter.isRetried)) }
        var summary = "\(list.letters.count) of \(list.count) letters"
        if list.unreadable > 0 {
            summary += "; \(list.unreadable) records that this build cannot read"
        }
        StandardError.write(summary + "\n")
    }

    private static func show(
        _ command: ParsedCommand, _ log: any EventLog, _ filter: DeadFilter
    ) throws -> Int32 {
        let list = try DeadList(log, filter: filter, limit: 1)
        guard let letter = list.letters.first else {
            throw Refusal(
                problem: "there is no such letter",
                hint: "retention may have deleted it; adbrake dead list tells which there are.")
        }
        if command[json] {
            try StandardOutput.write(letter.stored.json(isRetried: letter.isRetried))
        } else {
            print(letter.stored.text(isRetried: letter.isRetried), terminator: "")
        }
        return 0
    }

    private static func count(
        _ command: ParsedCommand, _ log: any EventLog, _ filter: DeadFilter
    ) throws {
        let key = DeadCount.Key(rawValue: command[key]) ?? .reason
        let groups = try DeadCount(log, filter: filter, by: key).groups
        if command[json] {
            for group in groups { try StandardOutput.write(line(group, key)) }
            return
        }
        let total = groups.reduce(0) { $0 + $1.letters }
        for group in groups {
            let retried = group.retried > 0 ? "  (\(group.retried) retried)" : ""
            print("\(group.letters)\t\(group.value)\(retried)")
        }
        StandardError.write("\(total) letters\n")
    }

    private static func line(_ group: DeadCount.Group, _ key: DeadCount.Key) -> [UInt8] {
        let bytes = JSONWriter.bytes { line in
            line.object { line in
                line.key(foreign: key.rawValue)
                line.string(group.value)
                line.field("letters", group.letters)
                line.field("retried", group.retried)
            }
        }
        return bytes + [UInt8(ascii: "\n")]
    }

    private static func retry(
        _ command: ParsedCommand, _ log: any EventLog, _ filter: DeadFilter
    ) throws {
        let user = Environment.all()["USER"].flatMap { $0.isEmpty ? nil : $0 } ?? "uid \(getuid())"
        let retry = DeadRetry(
            log, filter: filter, by: user, now: { SystemClock.wallMilliseconds() })
        let outcome: DeadRetry.Outcome
        if command[rehearsal] {
            outcome = try retry.rehearse()
        } else {
            let isShown = StandardError.isTerminal
            outcome = try retry.run { seen in
                if isShown { StandardError.write("\r\(seen) letters looked at ") }
            }
            if isShown { StandardError.write("\r") }
        }
        if command[json] {
            try StandardOutput.write(outcome.json())
        } else {
            print(outcome.text(isRehearsal: command[rehearsal]), terminator: "")
        }
    }
}
