// `adbrake replay`: decides over a file of records, no log needed.

import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Runtime

enum ReplayCommand: Subcommand {
    private static let pieceBytes = 1 << 20
    private static let progressMilliseconds: Int64 = 200

    private static let input = Option.optional(
        "input", "FILE", help: "the records, one JSON line each; - reads standard input")
    private static let log = Option.optional(
        "log", "LOG", help: "replay a log in place of a file; it is only read")
    private static let from = Option.optional(
        "from", "MS", help: "with --log: leave out what was decided before, ms since 1970")
    private static let until = Option.optional(
        "until", "MS", help: "with --log: leave out what was decided from then on")
    private static let apps = Option.integer(
        "max-apps", in: 1...10_000_000, default: 100_000,
        help: "the most apps; events of others are refused")
    private static let quiet = Option.flag(
        "quiet", help: "no progress and no summary on standard error")

    static let syntax = CommandSyntax(
        "replay",
        summary: "Decide over a file: what would the brake have done?",
        discussion: """
            Lines are ordered by "append" (ms since 1970), the time at which the log took a record: \
            {"append":1700000000000,"value":{"type":"session","app":"my.app","session":"s1"}}, or \
            an array of records of one type and app as value, or {"append":A} alone to let time \
            pass. A line first moves the clock to its append time, deciding at each tick on the \
            way, then counts its record.

            The throttle records come out as JSON lines, in order of tick, then app. The same \
            input and policy always give the same bytes.

            With --log a log is replayed: under the policy it was decided by, epoch by epoch, and \
            every epoch's checksum is compared; under another one by append time.
            """,
        options: [input, log, from, until, PolicyOption.option, apps, quiet]
            + LogOption.kafkaOptions,
        examples: [
            .init(
                "adbrake replay --input events.ndjson",
                "what the default policy would have decided"),
            .init(
                "zcat export.gz | adbrake replay --input - --policy mine.json",
                "a policy of your own over an export"),
            .init(
                "adbrake replay --log sqlite:adbrake.db",
                "prove that a log's decisions follow from its records"),
        ])

    static func run(_ command: ParsedCommand) throws -> Int32 {
        let policy = try PolicyOption.policy(command[PolicyOption.option])
        switch (command[input], command[log]) {
        case (let path?, nil): return try run(command, file: path, policy)
        case (nil, let place?): return try run(command, log: place, policy)
        default:
            throw Refusal(
                problem: "give either --input or --log",
                hint: "adbrake replay --help explains both.")
        }
    }

    private static func run(
        _ command: ParsedCommand, log place: String, _ policy: Policy
    ) throws -> Int32 {
        let first = try milliseconds(command[from], "--from") ?? 0
        let last = try milliseconds(command[until], "--until") ?? .max
        guard first < last else {
            throw Refusal(problem: "--from is not before --until", hint: "both are ms since 1970.")
        }
        let log = try LogOption.open(
            existing: place, command,
            logger: Logger(part: "replay", level: .warning, to: StandardErrorSink()))
        defer { log.close() }
        let replay = LogReplay(
            log: log, policy: policy,
            limits: EvaluateSettings.limits(
                appsMax: command[apps], partitions: log.partitions),
            range: first..<last)
        let isShown = !command[quiet] && StandardError.isTerminal
        let outcome = try replay.run { partition in
            if isShown {
                StandardError.write("\rpartition \(partition + 1) of \(log.partitions) ")
            }
        }
        if isShown { StandardError.write("\r" + String(repeating: " ", count: 40) + "\r") }
        try StandardOutput.write(outcome.output)
        if !command[quiet] {
            StandardError.write(summary(outcome, policy: policy, partitions: log.partitions))
        }
        return 0
    }

    private static func summary(
        _ outcome: LogReplay.Outcome, policy: Policy, partitions: Int
    ) -> String {
        var text = "\(outcome.records) throttle records under policy \(policy.name)\n"
        if outcome.epochs > 0 {
            text += "  \(outcome.epochs) epochs decided again, every checksum as in the log\n"
        }
        if outcome.partitionsByTime > 0 {
            text +=
                "  \(outcome.partitionsByTime) of \(partitions) partitions by append time: "
                + "this policy has not decided them last\n"
        }
        return text
    }

    private static func milliseconds(_ text: String?, _ label: String) throws -> Int64? {
        guard let text else { return nil }
        guard let time = Int64(text), time >= 0 else {
            throw Refusal(
                problem: "\(label) \(text): expected a whole number", hint: "ms since 1970.")
        }
        return time
    }

    private static func run(
        _ command: ParsedCommand, file path: String, _ policy: Policy
    ) throws -> Int32 {
        let file = try InputFile(path)
        let isQuiet = command[quiet]
        var replay = Replay(policy: policy, limits: EvaluatorLimits(appsMax: command[apps]))
        var progress = Progress(
            byteCount: file.byteCount, isShown: !isQuiet && StandardError.isTerminal)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 64)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe try file.read(into: buffer)
            if count == 0 { break }
            unsafe replay.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            try StandardOutput.write(replay.takeOutput())
            progress.show(replay.counts)
        }
        replay.finish()
        try StandardOutput.write(replay.takeOutput())
        progress.clear()
        if !isQuiet { StandardError.write(summary(replay, policy: policy, progress)) }
        return 0
    }

    private static func summary(
        _ replay: borrowing Replay, policy: Policy, _ progress: Progress
    ) -> String {
        let tallies = replay.tallies
        var text =
            "\(replay.counts.lines) lines, \(tallies.events) events of \(replay.appCount) apps, "
            + "\(tallies.changes) throttle records under policy \(policy.name) "
            + "in \(progress.seconds) s\n"
        let met: [(String, Int64)] = [
            ("repeated", tallies.repeats), ("too old for any window", tallies.expired),
            ("with a clock that was off", tallies.shifted), ("from the future", tallies.future),
            ("out of order", tallies.stragglers),
        ]
        let list = met.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
        if !list.isEmpty { text += "  events " + list.joined(separator: ", ") + "\n" }
        for (reason, count) in replay.counts.rejected.sorted(by: {
            $0.key.rawValue < $1.key.rawValue
        }) {
            text += "  \(count) rejected: \(reason.rawValue)\n"
        }
        for (line, event) in replay.counts.examples {
            let place = event.index.map { ", event \($0)" } ?? ""
            text += "    line \(line)\(place): \(event.reason.rawValue)\n"
        }
        return text
    }

    /// One line on a terminal that tells how far it is.
    private struct Progress {
        let byteCount: Int64?
        let isShown: Bool
        private let begun = SystemClock.monotonicMilliseconds()
        private var shownAt: Int64 = 0

        init(byteCount: Int64?, isShown: Bool) {
            self.byteCount = byteCount
            self.isShown = isShown
        }

        /// Since the start, with a tenth.
        var seconds: String {
            let tenths = (SystemClock.monotonicMilliseconds() - begun + 50) / 100
            return "\(tenths / 10).\(tenths % 10)"
        }

        mutating func show(_ counts: ReplayCounts) {
            let now = SystemClock.monotonicMilliseconds()
            guard isShown, now - shownAt >= ReplayCommand.progressMilliseconds else { return }
            shownAt = now
            var text = "\r\(counts.lines) lines, \(counts.bytes >> 20) MB"
            if let byteCount, byteCount > 0 {
                text += " of \(byteCount >> 20) MB, \(100 * counts.bytes / byteCount) %"
            }
            StandardError.write(text + " ")
        }

        func clear() {
            if isShown && shownAt > 0 {
                StandardError.write("\r" + String(repeating: " ", count: 60) + "\r")
            }
        }
    }
}
