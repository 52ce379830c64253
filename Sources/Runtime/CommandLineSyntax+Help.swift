// Help that teaches: what it is for, what to type first, then every option with its default.

extension CommandLineSyntax {
    private static let width = 92

    /// The program's help.
    package var help: String {
        let column = (commands.map(\.name.count).max() ?? 0) + 2
        var text = "\(summary)\n\nUsage: \(program) SUBCOMMAND [OPTIONS]\n\nSubcommands:\n"
        for command in commands {
            text += Self.row("  " + command.name, at: column + 2, command.summary)
        }
        let examples = commands.compactMap(\.examples.first)
        if !examples.isEmpty { text += "\nExamples:\n" + Self.list(examples) }
        return text + "\n`\(program) SUBCOMMAND --help` explains the options of a subcommand."
    }

    /// The help of one subcommand.
    package func help(of command: CommandSyntax) -> String {
        let options = command.options.map(\.declaration)
        let arguments = options.filter { $0.form == .argument }
        let named = options.filter { $0.form != .argument }
        var text = "\(command.summary)\n"
        if !command.discussion.isEmpty {
            text +=
                "\n" + Self.wrapped(command.discussion, Self.width).joined(separator: "\n") + "\n"
        }
        text += "\nUsage: \(program) \(command.name)"
        for argument in arguments {
            let placeholder = argument.placeholder
            text += argument.isRequired ? " \(placeholder)" : " [\(placeholder)]"
        }
        for option in named where option.isRequired { text += " \(Self.usage(option))" }
        text += named.contains { !$0.isRequired } ? " [OPTIONS]\n" : "\n"
        if !command.examples.isEmpty { text += "\nExamples:\n" + Self.list(command.examples) }
        if !arguments.isEmpty { text += "\nArguments:\n" + Self.table(arguments) }
        if !named.isEmpty { text += "\nOptions:\n" + Self.table(named) }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    private static func usage(_ option: OptionDeclaration) -> String {
        option.placeholder.isEmpty || option.form == .argument
            ? option.label : "\(option.label) \(option.placeholder)"
    }

    private static func list(_ examples: [CommandSyntax.Example]) -> String {
        examples.map { "  \($0.line)\n      \($0.meaning)\n" }.joined()
    }

    private static func table(_ options: [OptionDeclaration]) -> String {
        let column = min(28, (options.map { usage($0).count }.max() ?? 0) + 4)
        return options.map { option in
            var notes: [String] = []
            if option.isRequired { notes.append("required") }
            if option.form == .list { notes.append("may be given several times") }
            if let fallback = option.fallback { notes.append("default: \(fallback)") }
            if let name = option.environment { notes.append("environment: \(name)") }
            let help =
                notes.isEmpty
                ? option.help : "\(option.help) (\(notes.joined(separator: "; ")))"
            return row("  " + usage(option), at: column, help)
        }.joined()
    }

    /// A label and its text beside it, wrapped; below it where the label is too long.
    private static func row(_ label: String, at column: Int, _ text: String) -> String {
        let margin = String(repeating: " ", count: column)
        let body = wrapped(text, width - column).joined(separator: "\n" + margin)
        if label.count + 2 > column { return "\(label)\n\(margin)\(body)\n" }
        return label + String(repeating: " ", count: column - label.count) + body + "\n"
    }

    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { paragraph in
            var lines = [""]
            for word in paragraph.split(separator: " ") {
                let line = lines[lines.count - 1]
                if line.isEmpty {
                    lines[lines.count - 1] = String(word)
                } else if line.count + 1 + word.count <= width {
                    lines[lines.count - 1] = "\(line) \(word)"
                } else {
                    lines.append(String(word))
                }
            }
            return lines
        }
    }
}
