// Who may report for which apps.

package import BrakeModel

/// The keys of a collector: each is allowed some apps, or all. A file of lines `KEY APP,APP,...`;
/// `*` in place of the apps means every app, `#` begins a comment.
package struct CollectorKeys: Sendable, Equatable {
    /// The most bytes of a key, and the fewest: shorter ones can be guessed.
    package static let keyBytes = 16...256
    /// The most keys.
    package static let keysMax = 10_000

    package enum Scope: Sendable, Equatable {
        case all
        case apps(Set<AppID>)
    }

    /// What is wrong with a line of the file; the key itself is not repeated.
    package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
        package var line: Int
        package var reason: String

        package var description: String { "line \(line): \(reason)" }
    }

    private var scopes: [String: Scope] = [:]

    package var count: Int { scopes.count }

    /// Reads the text of a file.
    package init(_ text: String) throws(Problem) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard !words.isEmpty else { continue }
            guard words.count == 2 else {
                throw Problem(line: index + 1, reason: "expected a key, a space, and apps or *")
            }
            let key = String(words[0])
            guard Self.keyBytes.contains(key.utf8.count) else {
                throw Problem(
                    line: index + 1,
                    reason:
                        "a key has \(Self.keyBytes.lowerBound) to \(Self.keyBytes.upperBound) bytes"
                )
            }
            guard scopes[key] == nil else {
                throw Problem(line: index + 1, reason: "the same key as on a line before")
            }
            scopes[key] = try Self.scope(words[1], line: index + 1)
            guard scopes.count <= Self.keysMax else {
                throw Problem(line: index + 1, reason: "more than \(Self.keysMax) keys")
            }
        }
    }

    private static func scope(_ word: Substring, line: Int) throws(Problem) -> Scope {
        if word == "*" { return .all }
        var apps: Set<AppID> = []
        for name in word.split(separator: ",") {
            guard let app = AppID(name) else {
                throw Problem(line: line, reason: "\(name.prefix(80)) is not an app id")
            }
            apps.insert(app)
        }
        return .apps(apps)
    }

    /// What a key may report for, nil for one that is not known.
    package func scope(of key: String) -> Scope? { scopes[key] }
}
