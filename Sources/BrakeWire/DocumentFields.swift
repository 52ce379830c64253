// Reads the fields of what people write, policies and control records, and lists what is wrong on
// the way.

/// Collects problems while fields are read. Reading goes on after a problem with some value, so
/// that all of them are found; what was read counts only when there was none.
struct DocumentFields {
    /// Of a hopeless document that many problems are enough.
    static let problemsMax = 100

    private(set) var problems: [DocumentProblem] = []

    /// An object within the document.
    struct Object {
        let path: String
        fileprivate let value: JSONValue

        func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

        subscript(key: String) -> JSONValue? { value[key] }
    }

    mutating func report(_ path: String, _ text: String) {
        if problems.count < DocumentFields.problemsMax {
            problems.append(DocumentProblem(path: path, text: text))
        }
    }

    /// An object which has these keys and no others: a typo must not silently change what is meant.
    mutating func object(_ value: JSONValue, at path: String, keys: [String]) -> Object {
        let object = Object(path: path, value: value)
        guard let fields = value.fields else {
            report(path, "expected an object, found \(value.reported)")
            return object
        }
        var seen: Set<String> = []
        for field in fields {
            let isNew = seen.insert(field.key).inserted
            if !keys.contains(field.key) {
                let hint =
                    NearestWord.to(field.key, of: keys).map { "did you mean \($0)?" }
                    ?? "known are \(keys.joined(separator: ", "))"
                report(object.path(of: String(field.key.prefix(64))), "unknown key; \(hint)")
            } else if !isNew {
                report(object.path(of: field.key), "given twice")
            }
        }
        return object
    }

    /// A whole number within the range; `absent` stands in when it is not given, nil: it must be.
    mutating func integer(
        _ object: Object, _ key: String, in range: ClosedRange<Int64>, absent: Int64? = nil
    ) -> Int64 {
        guard let value = object[key] else {
            if absent == nil { missing(object, key, "a whole number, \(range.asText)") }
            return absent ?? range.lowerBound
        }
        if let number = value.integer, range.contains(number) { return number }
        report(
            object.path(of: key),
            "expected a whole number, \(range.asText), found \(value.reported)")
        return range.lowerBound
    }

    /// A number for which the condition holds.
    mutating func number(
        _ object: Object, _ key: String, _ expected: String, where holds: (Double) -> Bool
    ) -> Double {
        guard let value = object[key] else {
            missing(object, key, expected)
            return 0
        }
        if let number = value.number, holds(number) { return number }
        report(object.path(of: key), "expected \(expected), found \(value.reported)")
        return 0
    }

    /// A number from 0 to 1.
    mutating func share(_ object: Object, _ key: String) -> Double {
        number(object, key, "a number, 0 ... 1") { (0...1).contains($0) }
    }

    /// One of these words; `absent` stands in when it is not given, nil: it must be.
    mutating func word<Value>(
        _ object: Object, _ key: String, of words: [(String, Value)], absent: Value? = nil
    ) -> Value {
        let expected = words.map(\.0).joined(separator: ", ")
        guard let value = object[key] else {
            if absent == nil { missing(object, key, "one of \(expected)") }
            return absent ?? words[0].1
        }
        if let text = value.text, let word = words.first(where: { $0.0 == text }) {
            return word.1
        }
        report(object.path(of: key), "expected one of \(expected), found \(value.reported)")
        return words[0].1
    }

    /// A name: what an app's id may be, too.
    mutating func name(_ object: Object, _ key: String) -> String {
        let expected = "1 to 64 of A-Z a-z 0-9 . _ -"
        guard let value = object[key] else {
            missing(object, key, expected)
            return ""
        }
        if let text = value.text, NameRule.allows(text) { return text }
        report(object.path(of: key), "expected \(expected), found \(value.reported)")
        return ""
    }

    mutating func missing(_ object: Object, _ key: String, _ expected: String) {
        // A value that is no object has been reported as such.
        if object.value.fields != nil {
            report(object.path(of: key), "missing; expected \(expected)")
        }
    }
}

extension ClosedRange<Int64> {
    fileprivate var asText: String { "\(lowerBound) ... \(upperBound)" }
}
