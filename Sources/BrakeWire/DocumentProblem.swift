// What is wrong with a document that people write, told so that it can be put right in one go.

/// One thing that is wrong.
package struct DocumentProblem: Sendable, Equatable, CustomStringConvertible {
    /// Where: `rules[2].window_s`; empty for the document as a whole.
    package var path: String
    /// What should be there, and what was found.
    package var text: String

    package init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    package var description: String { path.isEmpty ? text : "\(path): \(text)" }
}

/// A document that cannot be used, with all that is wrong with it.
package struct DocumentProblems: Error, Sendable, Equatable, CustomStringConvertible {
    package var problems: [DocumentProblem]

    package init(_ problems: [DocumentProblem]) { self.problems = problems }

    /// One, with the document as a whole.
    package init(_ text: String) { self.init([DocumentProblem(path: "", text: text)]) }

    package var description: String {
        problems.map(\.description).joined(separator: "; ")
    }
}

extension JSONValue {
    /// How a report calls this value.
    var reported: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let text): "\"\(text.prefix(40))\""
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Finds the word that was meant.
enum NearestWord {
    /// The word with the fewest typing errors from this one, nil when none is near.
    static func to(_ word: String, of words: [String]) -> String? {
        let distances = words.map { distance(Array(word.utf8.prefix(64)), Array($0.utf8)) }
        guard let least = distances.min(), least <= max(2, word.utf8.count / 3),
            let index = distances.firstIndex(of: least)
        else { return nil }
        return words[index]
    }

    /// How many bytes must be put in, taken out or changed. O(product of the lengths).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let changed = diagonal + (other[column] == byte ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
