// Who may see and change what people decide.

/// The tokens of the admin listener. A file of lines `TOKEN NAME read|write`; `#` begins a comment.
/// The name is the author of what is decided with the token.
package struct AdminTokens: Sendable, Equatable {
    /// The most bytes of a token, and the fewest: shorter ones can be guessed.
    package static let tokenBytes = 16...256
    package static let nameCharactersMax = 64
    package static let tokensMax = 1_000

    package enum Role: String, Sendable {
        case read
        /// Read and change.
        case write
    }

    package struct Person: Sendable, Equatable {
        package var name: String
        package var role: Role

        package init(name: String, role: Role) {
            self.name = name
            self.role = role
        }
    }

    /// What is wrong with a line of the file; the token itself is not repeated.
    package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        package var line: Int
        package var reason: String

        package var description: String { "line \(line): \(reason)" }
    }

    private var persons: [String: Person] = [:]

    package var count: Int { persons.count }

    /// Reads the text of a file.
    package init(_ text: String) throws(Problem) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            if words.isEmpty { continue }
            func problem(_ reason: String) -> Problem { Problem(line: index + 1, reason: reason) }
            guard words.count == 3, let role = Role(rawValue: String(words[2])) else {
                throw problem("expected a token, a name, and read or write")
            }
            let token = String(words[0])
            let name = String(words[1])
            guard Self.tokenBytes.contains(token.utf8.count) else {
                throw problem(
                    "a token has \(Self.tokenBytes.lowerBound) to \(Self.tokenBytes.upperBound)"
                        + " bytes")
            }
            guard name.unicodeScalars.count <= Self.nameCharactersMax else {
                throw problem("a name has at most \(Self.nameCharactersMax) characters")
            }
            guard persons[token] == nil else { throw problem("the same token as on a line before") }
            persons[token] = Person(name: name, role: role)
            guard persons.count <= Self.tokensMax else {
                throw problem("more than \(Self.tokensMax) tokens")
            }
        }
        guard !persons.isEmpty else { throw Problem(line: lines.count, reason: "no token at all") }
    }

    /// Who a token belongs to, nil for one that is not known.
    package func person(of token: String) -> Person? { persons[token] }
}
