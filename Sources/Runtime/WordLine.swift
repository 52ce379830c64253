// Files of lines of words, as people write them by hand: keys, tokens.

/// A line with something on it. `#` begins a comment, which goes to the end of the line.
package struct WordLine: Sendable {
    /// From 1 on.
    package var number: Int
    /// At least one.
    package var words: [Substring]

    /// What is wrong with a line. The reason never repeats what may be a secret.
    package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        package var line: Int
        package var reason: String

        package init(line: Int, reason: String) {
            self.line = line
            self.reason = reason
        }

        package var description: String { "line \(line): \(reason)" }
    }

    /// The lines of a text, without those that are empty.
    package static func all(of text: String) -> [WordLine] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .compactMap { index, line in
                let words = line.prefix { $0 != "#" }
                    .split { $0 == " " || $0 == "\t" || $0 == "\r" }
                return words.isEmpty ? nil : WordLine(number: index + 1, words: words)
            }
    }
}
