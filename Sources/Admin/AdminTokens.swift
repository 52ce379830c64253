// Who may see and change what people decide.

package import Runtime

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
    package typealias Problem = WordLine.Problem

    private var persons: [String: Person] = [:]

    package var count: Int { persons.count }

    /// Reads the text of a file.
    package init(_ text: String) throws(Problem) {
        for line in WordLine.all(of: text) {
            let words = line.words
            func problem(_ reason: String) -> Problem { Problem(line: line.number, reason: reason) }
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
        guard !persons.isEmpty else {
            throw Problem(line: 1 + text.count { $0 == "\n" }, reason: "no token at all")
        }
    }

    /// Who a token belongs to, nil for one that is not known.
    package func person(of token: String) -> Person? { persons[token] }
}
