// Reads the words of one subcommand, left to right.

/// The words taken so far and the option that waits for its value.
struct CommandReading {
    /// More words than this are a mistake of a script, not a command.
    static let wordsMax = 1_000

    private let program: String
    private let command: CommandSyntax
    private var given: [String: [String]] = [:]
    private var waiting: OptionDeclaration?
    private var isPastOptions = false
    private var count = 0

    init(program: String, command: CommandSyntax) {
        self.program = program
        self.command = command
    }

    mutating func take(_ word: String) throws(UsageError) {
        count += 1
        guard count <= Self.wordsMax else { throw usage("more than \(Self.wordsMax) words") }
        if let option = waiting {
            guard !word.hasPrefix("--") else { throw lacksValue(option) }
            waiting = nil
            try give(option, word)
        } else if word == "--" && !isPastOptions {
            isPastOptions = true
        } else if word.hasPrefix("-") && word != "-" && !isPastOptions {
            try takeOption(word)
        } else {
            try takeArgument(word)
        }
    }

    /// Fills what was not given from the environment and the defaults, and checks every value.
    mutating func finish(environment: [String: String]) throws(UsageError) -> ParsedCommand {
        if let option = waiting { throw lacksValue(option) }
        var values: [String: any Sendable] = [:]
        for option in command.options {
            let declaration = option.declaration
            let (words, source) = words(of: declaration, environment)
            if words.isEmpty && declaration.isRequired {
                let elsewhere = declaration.environment.map { " (or the environment's \($0))" }
                throw usage("\(declaration.label) is missing\(elsewhere ?? "")")
            }
            guard let value = option.check(words) else {
                throw usage(
                    "\(source) is `\(words.last ?? "")`, expected \(declaration.expected)")
            }
            values[declaration.label] = value
        }
        return ParsedCommand(name: command.name, values: values)
    }

    private func words(
        of option: OptionDeclaration, _ environment: [String: String]
    ) -> (words: [String], source: String) {
        if let words = given[option.label] { return (words, option.label) }
        // A variable set to nothing is how scripts and containers say "not set".
        guard let name = option.environment, let text = environment[name], !text.isEmpty else {
            return ([], option.label)
        }
        let words = option.form == .list ? text.split(separator: ",").map(String.init) : [text]
        return (words, "\(name) (the environment's \(option.label))")
    }

    private mutating func takeOption(_ word: String) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let label = String(parts[0])
        let options = command.options.map(\.declaration).filter { $0.form != .argument }
        guard let option = options.first(where: { $0.label == label }) else {
            let nearest = Spelling.nearest(to: label, among: options.map(\.label))
            throw usage("unknown option `\(label)`", nearest.map { "Did you mean `\($0)`? " })
        }
        if option.form == .flag {
            try give(option, parts.count > 1 ? String(parts[1]) : "yes")
        } else if parts.count > 1 {
            try give(option, String(parts[1]))
        } else {
            waiting = option
        }
    }

    private mutating func takeArgument(_ word: String) throws(UsageError) {
        let arguments = command.options.map(\.declaration).filter { $0.form == .argument }
        guard let next = arguments.first(where: { given[$0.label] == nil }) else {
            let nearest = Spelling.nearest(
                to: "--" + word, among: command.options.map(\.declaration.label))
            throw usage("`\(word)` is one word too many", nearest.map { "Did you mean `\($0)`? " })
        }
        try give(next, word)
    }

    private mutating func give(_ option: OptionDeclaration, _ word: String) throws(UsageError) {
        if option.form != .list && given[option.label] != nil {
            throw usage("\(option.label) is given twice")
        }
        given[option.label, default: []].append(word)
    }

    private func lacksValue(_ option: OptionDeclaration) -> UsageError {
        usage("\(option.label) has no value, expected \(option.expected)")
    }

    private func usage(_ problem: String, _ hint: String? = nil) -> UsageError {
        UsageError(
            problem: "\(command.name): \(problem)",
            hint: (hint ?? "") + "`\(program) \(command.name) --help` explains the options.")
    }
}

/// What a mistyped word may have meant.
enum Spelling {
    /// The nearest known word, if it is near at all. O(length of both) for each.
    static func nearest(to word: String, among known: [String]) -> String? {
        let most = max(1, min(3, word.utf8.count / 3))
        let ranked = known.map { (word: $0, distance: distance(word, $0)) }
        return ranked.filter { $0.distance <= most }.min { $0.distance < $1.distance }?.word
    }

    /// Insertions, deletions, replacements and swaps of neighbours between the two.
    static func distance(_ one: String, _ other: String) -> Int {
        let (a, b) = (Array(one.utf8.prefix(64)), Array(other.utf8.prefix(64)))
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                let replaced = last[j] + (a[i] == b[j] ? 0 : 1)
                var least = min(replaced, last[j + 1] + 1, row[j] + 1)
                if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                    least = min(least, before[j - 1] + 1)
                }
                row.append(least)
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
