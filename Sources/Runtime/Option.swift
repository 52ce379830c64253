// An option of a subcommand, declared once: its name, what it accepts, where else it may come from,
// and the sentence that explains it. Parsing, errors and help all follow from the declaration.

/// An option, flag or positional argument whose value is a `Value`.
package struct Option<Value: Sendable>: DeclaredOption {
    package let declaration: OptionDeclaration
    /// The value of the given words, nil when they are not what is expected; no words: the default.
    let convert: @Sendable ([String]) -> Value?

    package func check(_ words: [String]) -> (any Sendable)? { convert(words) }
}

/// What can be said of an option without its type.
package struct OptionDeclaration: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// `--name`.
        case flag
        /// `--name VALUE`.
        case value
        /// `--name VALUE`, any number of times.
        case list
        /// `VALUE` by its place.
        case argument
    }

    package var name: String
    package var form: Form
    /// How help writes the value: `HOST:PORT`.
    package var placeholder: String
    /// The end of "expected …".
    package var expected: String
    /// The default as help shows it; nil: none.
    package var fallback: String?
    package var environment: String?
    package var isRequired: Bool
    package var help: String

    /// As typed: `--log`, or `APP` for an argument.
    package var label: String { form == .argument ? placeholder : "--" + name }
}

/// An option of any type, as a subcommand lists it.
package protocol DeclaredOption: Sendable {
    var declaration: OptionDeclaration { get }
    func check(_ words: [String]) -> (any Sendable)?
}

extension Option {
    private init(
        _ name: String, _ form: OptionDeclaration.Form, _ placeholder: String, expected: String,
        fallback: String?, environment: String?, isRequired: Bool = false, help: String,
        convert: @escaping @Sendable ([String]) -> Value?
    ) {
        precondition(name == name.lowercased(), "options are in lower case: \(name)")
        declaration = OptionDeclaration(
            name: name, form: form, placeholder: placeholder, expected: expected,
            fallback: fallback, environment: environment, isRequired: isRequired, help: help)
        self.convert = convert
    }
}

extension Option where Value == Bool {
    package static func flag(_ name: String, environment: String? = nil, help: String) -> Option {
        Option(
            name, .flag, "", expected: "yes or no", fallback: nil, environment: environment,
            help: help
        ) { words in
            switch words.last {
            case nil, "0", "no", "false", "off": false
            case "1", "yes", "true", "on": true
            default: nil
            }
        }
    }
}

extension Option where Value == String {
    package static func text(
        _ name: String, _ placeholder: String, default fallback: String,
        environment: String? = nil, help: String
    ) -> Option {
        Option(
            name, .value, placeholder, expected: "text", fallback: fallback,
            environment: environment, help: help
        ) { $0.last ?? fallback }
    }

    /// One of a few words.
    package static func choice(
        _ name: String, _ choices: [String], default fallback: String,
        environment: String? = nil, help: String
    ) -> Option {
        precondition(choices.contains(fallback), "the default of \(name) is one of its choices")
        return Option(
            name, .value, choices.joined(separator: "|"),
            expected: "one of " + choices.joined(separator: ", "), fallback: fallback,
            environment: environment, help: help
        ) { words in
            let word = words.last ?? fallback
            return choices.contains(word) ? word : nil
        }
    }

    /// A word that must be given, by its place.
    package static func argument(_ placeholder: String, choices: [String]? = nil, help: String)
        -> Option
    {
        let expected = choices.map { "one of " + $0.joined(separator: ", ") } ?? "a value"
        return Option(
            placeholder.lowercased(), .argument,
            choices?.joined(separator: "|") ?? placeholder, expected: expected, fallback: nil,
            environment: nil, isRequired: true, help: help
        ) { words in
            guard let word = words.last, !word.isEmpty else { return nil }
            return choices?.contains(word) ?? true ? word : nil
        }
    }

    /// An option that must be given.
    package static func required(
        _ name: String, _ placeholder: String, environment: String? = nil, help: String
    ) -> Option {
        Option(
            name, .value, placeholder, expected: "a value", fallback: nil,
            environment: environment, isRequired: true, help: help
        ) { words in
            words.last.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}

extension Option where Value == String? {
    /// A word that may be given, by its place after those that must be.
    package static func optionalArgument(_ placeholder: String, help: String) -> Option {
        Option(
            placeholder.lowercased(), .argument, placeholder, expected: "a value", fallback: nil,
            environment: nil, help: help
        ) { words in
            guard let word = words.last else { return .some(nil) }
            return word.isEmpty ? nil : word
        }
    }

    /// Absent unless given.
    package static func optional(
        _ name: String, _ placeholder: String, environment: String? = nil, help: String
    ) -> Option {
        Option(
            name, .value, placeholder, expected: "a value", fallback: nil,
            environment: environment, help: help
        ) { words in
            guard let word = words.last else { return .some(nil) }
            return word.isEmpty ? nil : word
        }
    }
}

extension Option where Value == [String] {
    /// Given any number of times; in the environment separated by commas.
    package static func list(
        _ name: String, _ placeholder: String, environment: String? = nil, help: String
    ) -> Option {
        Option(
            name, .list, placeholder, expected: "a value", fallback: nil,
            environment: environment, help: help
        ) { words in
            words.contains("") ? nil : words
        }
    }
}

extension Option where Value == Int {
    package static func integer(
        _ name: String, _ placeholder: String = "N", in range: ClosedRange<Int>,
        default fallback: Int, environment: String? = nil, help: String
    ) -> Option {
        precondition(range.contains(fallback), "the default of \(name) is in its range")
        return Option(
            name, .value, placeholder,
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            fallback: String(fallback), environment: environment, help: help
        ) { words in
            guard let word = words.last else { return fallback }
            return Int(word).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A time, in ms: `500ms`, `10s`, `15m`, `24h`, `7d`.
    package static func milliseconds(
        _ name: String, in range: ClosedRange<Int>, default fallback: Int,
        environment: String? = nil, help: String
    ) -> Option {
        precondition(range.contains(fallback), "the default of \(name) is in its range")
        let least = DurationText.text(range.lowerBound)
        let most = DurationText.text(range.upperBound)
        return Option(
            name, .value, "TIME",
            expected: "a time from \(least) to \(most), as 500ms, 10s, 15m, 24h",
            fallback: DurationText.text(fallback), environment: environment, help: help
        ) { words in
            guard let word = words.last else { return fallback }
            return DurationText.milliseconds(word).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Option where Value == ListenAddress {
    package static func address(
        _ name: String, default fallback: ListenAddress, environment: String? = nil, help: String
    ) -> Option {
        Option(
            name, .value, "HOST:PORT", expected: "HOST:PORT, as 127.0.0.1:8080 or [::1]:8080",
            fallback: fallback.description, environment: environment, help: help
        ) { words in
            guard let word = words.last else { return fallback }
            return ListenAddress(word)
        }
    }
}
