// Words and calls that are not used here, each with what to use instead.
import Foundation

/// A pattern that must not occur in some files.
struct Ban {
    enum Place {
        /// Code without comments and texts.
        case code
        /// Everything, comments and texts too.
        case text
    }

    let pattern: String
    let place: Place
    let instead: String
    let applies: @Sendable (TextFile) -> Bool

    init(
        _ pattern: String, in place: Place = .code, instead: String,
        where applies: @escaping @Sendable (TextFile) -> Bool = { $0.isSwift }
    ) {
        self.pattern = pattern
        self.place = place
        self.instead = instead
        self.applies = applies
    }

    func findings(in file: TextFile) throws -> [Finding] {
        guard applies(file) else { return [] }
        // Over the whole text at once: many files, many bans, and tests are not optimised.
        let regex = try NSRegularExpression(pattern: pattern, options: [.anchorsMatchLines])
        let lines = place == .code ? file.code : file.lines
        let text = lines.joined(separator: "\n") as NSString
        let all = NSRange(location: 0, length: text.length)
        return regex.matches(in: text as String, range: all).map { match in
            let before = text.substring(to: match.range.location + leadingBreaks(text, match.range))
            let found = text.substring(with: match.range).drop { $0.isWhitespace }
            return Finding(
                path: file.path, line: before.count { $0 == "\n" } + 1,
                problem: "`\(found)` is not used here", instead: instead)
        }
    }

    /// A match may begin with the end of the line before.
    private func leadingBreaks(_ text: NSString, _ range: NSRange) -> Int {
        range.length > 0 && text.substring(with: range).hasPrefix("\n") ? 1 : 0
    }
}

enum BannedCalls {
    static let all = words + everywhere + placed + pure + phones

    /// The rules themselves have to write the words.
    private static func isOther(_ file: TextFile) -> Bool {
        !file.isUnder("Tests/RepositoryTests")
    }

    private static let words = [
        Ban(
            #"\b(TODO|FIXME|XXX|HACK)\b"#, in: .text,
            instead: "Do it, or write down as a limit what holds now.", where: isOther),
        Ban(
            #"(?i)\bfor now\b|\bnot (yet )?implemented\b|\bunimplemented\b"#, in: .text,
            instead: "Say what holds, or build it.", where: isOther),
        Ban(
            #"(^|[\s"'`=(])/(work|tmp)/"#, in: .text,
            instead: "A path of one machine: take it as an option or ask the system.",
            where: { isOther($0) && !$0.path.hasSuffix(".sh") }),
    ]

    private static let everywhere = [
        Ban(
            #"\bfatalError\("#,
            instead: "A bug: precondition. A fault: throw it. Bad data: a value."),
        Ban(#"\btry!"#, instead: "Catch it, or declare `throws`; in tests use `#require`."),
        Ban(#"\bas!"#, instead: "`as?` with a guard that says what was expected."),
        Ban(#"nonisolated\(unsafe\)"#, instead: "Mutex or Monitor."),
        Ban(#"unowned\(unsafe\)"#, instead: "A strong reference, or a weak one."),
        Ban(#"@preconcurrency\b"#, instead: "Make the type Sendable and say why."),
        Ban(#"\bNS(Recursive)?Lock\b"#, instead: "Mutex, or Monitor to wait."),
        Ban(
            #"\bProcess\("#,
            instead: "ChildProcess of ProcessTestSupport: other children do not get its streams."),
        Ban(#"import XCTest"#, instead: "Swift Testing: `import Testing`."),
        Ban(
            #"\b(class|struct|enum|actor|protocol)\s+\w*(Utils?|Helpers?|Manager)\b"#,
            instead: "Name it by what it is: a noun of the architecture."),
    ]

    private static let placed = [
        Ban(
            #"\b(u|nano)?sleep\(|\bTask\.sleep\b|Thread\.sleep"#,
            instead: "Wait for the condition with a deadline: Monitor.wait, StopSignal.wait.",
            // A broker has nothing to wait on: there, looking again after a pause is all one can
            // do.
            where: {
                $0.isSwift && !$0.isUnder("Sources/KafkaLog") && !$0.isUnder("Tests/KafkaLogTests")
            }),
        Ban(
            #"(^|[^.\w])(debugPrint|print|dump)\("#,
            instead: "Logger, passed in; standard output belongs to the executable and its tools.",
            where: {
                $0.isSwift && $0.isUnder("Sources") && !$0.isUnder("Sources/adbrake")
                    && !$0.isUnder("Sources/Traffic") && !$0.isUnder("Sources/Watch")
            }),
        Ban(
            #"(^|[^.\w])Task(\.detached)?\s*(\{|\()"#,
            instead: "A Service or WorkerThread: blocking work stays off the task pool.",
            where: {
                $0.isSwift && $0.isUnder("Sources") && !$0.isUnder("Sources/AdBrakeClient")
            }),
        Ban(
            #"\bDispatch(Queue|Group)\b"#, instead: "WorkerThread, and Monitor to wait.",
            where: { $0.isSwift && $0.isUnder("Sources") }),
        Ban(
            #"\bDate\(|\bDate\.now\b"#, instead: "SystemClock, or time as an argument.",
            where: {
                $0.isSwift && $0.isUnder("Sources") && !$0.isUnder("Sources/AdBrakeClient")
            }),
        Ban(
            #"@Test[^`"\n]*\bfunc\s+[a-z]"#,
            instead: "Name it with a sentence: @Test func `A late crash revises its bucket`()."),
        Ban(
            #"\bunsafeFlags\b"#, instead: "Flags go in the Makefile: the SDK must be a dependency.",
            where: { $0.path == "Package.swift" }),
    ]

    private static func isPure(_ file: TextFile) -> Bool {
        ["BrakeModel", "BrakeEngine", "BrakeWire"].contains { file.isUnder("Sources/" + $0) }
    }

    /// A decision depends on the log alone.
    private static let pure = [
        Ban(
            #"\b(Date|ContinuousClock|SuspendingClock|SystemClock|DispatchTime)\b"#,
            instead: "Time comes from records: take it as an argument.", where: isPure),
        Ban(
            #"\b(Hasher|hashValue|ObjectIdentifier)\b"#,
            instead: "StableHash: the standard hash differs from process to process.", where: isPure
        ),
        Ban(
            #"\.random\(|\brandomElement\(|\bshuffled?\(|SystemRandomNumberGenerator|\bUUID\b"#,
            instead: "A seeded generator, passed inout, outside of the engine.", where: isPure),
        Ban(
            #"\b(Task|actor|await|async|Mutex|Atomic|Monitor|Thread)\b"#,
            instead: "It is a value: whoever holds it has it alone.", where: isPure),
        Ban(
            #"\b(clock_gettime|gettimeofday|getenv|fopen|socket)\("#,
            instead: "No I/O here: bytes in, values out.", where: isPure),
    ]

    private static let phones = [
        Ban(
            #"\b(InlineArray|Mutex|Atomic|Synchronization|Glibc|(Raw)?Span)\b"#,
            instead: "It raises the least system of phones: use a class with a lock of Foundation.",
            where: { $0.isSwift && $0.isUnder("Sources/AdBrakeClient") })
    ]
}
