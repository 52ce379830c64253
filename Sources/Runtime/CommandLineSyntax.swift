// The command line as a value: which subcommands there are and what each accepts. Pure: words and
// environment in; a command to run, a text to print, or a usage error out.

/// A subcommand: what it is for, what it accepts, and examples to copy.
package struct CommandSyntax: Sendable {
    package struct Example: Sendable {
        package var line: String
        package var meaning: String

        package init(_ line: String, _ meaning: String) {
            self.line = line
            self.meaning = meaning
        }
    }

    package var name: String
    package var summary: String
    package var discussion: String
    package var options: [any DeclaredOption]
    package var examples: [Example]

    package init(
        _ name: String, summary: String, discussion: String = "",
        options: [any DeclaredOption] = [], examples: [Example] = []
    ) {
        let labels = options.map(\.declaration.label)
        precondition(Set(labels).count == labels.count, "\(name) declares an option twice")
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.options = options
        self.examples = examples
    }
}

/// What a person typed, understood.
package struct ParsedCommand: Sendable {
    package let name: String
    private let values: [String: any Sendable]

    init(name: String, values: [String: any Sendable]) {
        self.name = name
        self.values = values
    }

    /// The value of an option which the subcommand declares.
    package subscript<Value>(option: Option<Value>) -> Value {
        guard let value = values[option.declaration.label] as? Value else {
            preconditionFailure("\(name) does not declare \(option.declaration.label)")
        }
        return value
    }
}

/// A command line which cannot be understood, in words that say how to mend it.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// As sysexits.h has it.
    package static let exitStatus: Int32 = 64

    package var problem: String
    package var hint: String

    package init(problem: String, hint: String) {
        self.problem = problem
        self.hint = hint
    }

    package var description: String { "\(problem)\n\(hint)" }
}

/// All subcommands of the program.
package struct CommandLineSyntax: Sendable {
    package enum Outcome: Sendable {
        case run(ParsedCommand)
        /// Print it and exit with status 0.
        case text(String)
        /// Print it to standard error and exit with status 64.
        case usage(UsageError)
    }

    package var program: String
    package var version: String
    package var summary: String
    package var commands: [CommandSyntax]

    package init(program: String, version: String, summary: String, commands: [CommandSyntax]) {
        precondition(Set(commands.map(\.name)).count == commands.count, "names are unique")
        self.program = program
        self.version = version
        self.summary = summary
        self.commands = commands
    }

    /// Understands the words after the program's name.
    package func parse(_ words: [String], environment: [String: String] = [:]) -> Outcome {
        guard let first = words.first else { return .text(help) }
        switch first {
        case "--version": return .text("\(program) \(version)")
        case "--help", "-h": return .text(help)
        case "help":
            guard words.count > 1 else { return .text(help) }
            return command(named: words[1]).map { .text(help(of: $0)) } ?? unknown(words[1])
        default: break
        }
        guard let command = command(named: first) else { return unknown(first) }
        let rest = words.dropFirst()
        let ownWords = rest.prefix { $0 != "--" }
        if ownWords.contains("--help") || ownWords.contains("-h") {
            return .text(help(of: command))
        }
        do {
            var reading = CommandReading(program: program, command: command)
            for word in rest { try reading.take(word) }
            return .run(try reading.finish(environment: environment))
        } catch {
            return .usage(error)
        }
    }

    private func command(named name: String) -> CommandSyntax? {
        commands.first { $0.name == name }
    }

    private func unknown(_ word: String) -> Outcome {
        let kind = word.hasPrefix("-") ? "option" : "subcommand"
        let nearest = Spelling.nearest(to: word, among: commands.map(\.name))
        let hint = nearest.map { "Did you mean `\(program) \($0)`? " } ?? ""
        return .usage(
            UsageError(
                problem: "unknown \(kind) `\(word)`",
                hint: hint + "`\(program) --help` lists the subcommands."))
    }
}
