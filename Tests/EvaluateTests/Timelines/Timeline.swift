// A story told as text, one line an input with its expected outcome, for whoever decides over
// records: the reference, and the engine.

//     policy probe                              a document of Policies
//     with relapse_s 60                         a member of it replaced
//     0s        a start x100 s=s* d=d*          100 sessions s1 ... s100 of app a
//     5s        a crash s=s1 session_at=-5s     device times are relative to the line's time
//     0s..1h/10s  a start x3 s=t* & b crash     two records every 10 s; * goes on counting
//     1m                                        no record, time only
//     61s       => a Caution rule rule=any r2 @6s 60.crashes=1; b Normal initial r1
//
// The outcome names every change decided up to the line's time, in order, and of each change as
// many words as matter. A line without an outcome says that nothing changes.
import Foundation

struct Timeline {
    /// 2023-11-15 00:12 UTC: a multiple of 7 s as well as of 2 minutes.
    static let epoch: Int64 = 1_700_007_120_000

    /// A line of the story: when it is over, and what is expected by then.
    struct Step {
        let text: String
        let end: Int64
        let outcome: [[String]]
    }

    struct Malformed: Error {
        let line: String
    }

    private(set) var policy = ""
    /// The input as `adbrake replay` takes it.
    private(set) var input: [String] = []
    private(set) var steps: [Step] = []

    init(_ story: String) throws {
        var members: [String] = []
        for line in story.split(separator: "\n") {
            let text = line.trimmingCharacters(in: .whitespaces)
            let words = text.split(separator: " ", maxSplits: 2).map(String.init)
            switch words.first {
            case nil: continue
            case "policy" where words.count == 2: policy = TestPolicy.text(words[1])
            case "with" where words.count == 3: members.append("\"\(words[1])\":\(words[2])")
            default: try add(text)
            }
        }
        // A later member of the same name wins, here as in any JSON reader we know: so drop it
        // first.
        for member in members {
            policy = try Self.replacing(member, in: policy)
        }
    }

    private static func replacing(_ member: String, in document: String) throws -> String {
        let data = Data("{\(member)}".utf8)
        guard
            var object = try JSONSerialization.jsonObject(with: Data(document.utf8))
                as? [String: Any],
            let replacement = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { throw Malformed(line: member) }
        object.merge(replacement) { $1 }
        return String(
            decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }

    private mutating func add(_ text: String) throws {
        let halves = text.components(separatedBy: "=>")
        var words = halves[0].split(separator: " ").map(String.init)
        guard !words.isEmpty else { throw Malformed(line: text) }
        let times = try Self.times(words.removeFirst())
        let records = words.split(separator: "&").map(Array.init)
        var numbers = records.map { _ in 0 }
        for time in times {
            let append = Self.epoch + time
            if records.isEmpty { input.append("{\"append\":\(append)}") }
            for (index, record) in records.enumerated() {
                let values = try Self.events(record, append: append, number: &numbers[index])
                let value = values.count == 1 ? values[0] : "[\(values.joined(separator: ","))]"
                input.append("{\"append\":\(append),\"value\":\(value)}")
            }
        }
        let outcome =
            halves.count < 2
            ? []
            : halves[1].components(separatedBy: ";").map {
                $0.split(separator: " ").map(String.init)
            }
        steps.append(Step(text: text, end: Self.epoch + (times.last ?? 0), outcome: outcome))
    }

    /// `5s`, or `0s..1h/10s`.
    private static func times(_ word: String) throws -> [Int64] {
        let ends = word.components(separatedBy: "..")
        guard ends.count == 2 else { return [try duration(word)] }
        let parts = ends[1].components(separatedBy: "/")
        guard parts.count == 2 else { throw Malformed(line: word) }
        return Array(
            stride(
                from: try duration(ends[0]), through: try duration(parts[0]),
                by: Int(try duration(parts[1]))))
    }

    /// `1h`, `-25m`, `1m1ms`, in ms.
    static func duration(_ word: String) throws -> Int64 {
        let units: [String: Int64] = [
            "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
        ]
        var total: Int64 = 0
        var rest = word.drop { $0 == "-" || $0 == "+" }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isNumber }
            let unit = rest.dropFirst(digits.count).prefix { $0.isLetter }
            guard let number = Int64(digits), let scale = units[String(unit)] else {
                throw Malformed(line: word)
            }
            total += number * scale
            rest = rest.dropFirst(digits.count + unit.count)
        }
        return word.hasPrefix("-") ? -total : total
    }

    private static func events(
        _ words: [String], append: Int64, number: inout Int
    ) throws -> [String] {
        guard words.count >= 2 else { throw Malformed(line: words.joined(separator: " ")) }
        if words[0] == "raw" { return [words.dropFirst().joined(separator: " ")] }
        guard let head = heads[words[1]] else {
            throw Malformed(line: words.joined(separator: " "))
        }
        var count = 1
        var fields: [(key: String, value: String)] = []
        for word in words.dropFirst(2) {
            let pair = word.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 {
                fields.append((keys[pair[0]] ?? pair[0], pair[1]))
            } else if word.hasPrefix("x"), let times = Int(word.dropFirst()) {
                count = times
            } else {
                throw Malformed(line: word)
            }
        }
        return try (0..<count).map { _ in
            number += 1
            var text = "{\"app\":\"\(words[0])\",\(head)"
            for (key, value) in fields {
                if ["at", "sent", "session_at"].contains(key) {
                    text += ",\"\(key)\":\(append + (try duration(value)))"
                } else {
                    let value = value.replacing("*", with: "\(number)")
                    text += ",\"\(key)\":\"\(value)\""
                }
            }
            return text + "}"
        }
    }

    private static let keys = ["s": "session", "d": "device"]

    private static let heads = [
        "start": #""type":"session""#,
        "alive": #""type":"session","phase":"alive""#,
        "end": #""type":"session","phase":"end""#,
        "background": #""type":"session","foreground":false"#,
        "crash": #""type":"crash""#,
        "nonfatal": #""type":"crash","fatal":false"#,
        "soft": #""type":"soft_error","severity":"error""#,
        "shown": #""type":"ad_event","event":"shown""#,
    ]
}

extension Timeline {
    /// What differs between the changes and the story, a line each; empty when all is as told.
    func differences(from changes: [ReferenceChange]) -> [String] {
        var differences: [String] = []
        var rest = changes[...]
        for step in steps {
            let here = rest.prefix { $0.tick <= step.end }
            rest = rest.dropFirst(here.count)
            let seen = here.map(\.words)
            let isAsTold =
                seen.count == step.outcome.count
                && zip(seen, step.outcome).allSatisfy { words, told in
                    told.allSatisfy(words.contains)
                }
            guard !isAsTold else { continue }
            differences.append("\(step.text)\n  but: \(here.map(\.description))")
        }
        return differences
    }
}

extension ReferenceChange: CustomStringConvertible {
    /// The words by which a timeline may name it.
    var words: Set<String> {
        Set(description.split(separator: " ").map(String.init))
    }

    var description: String {
        var words = [app, state, cause, "r\(revision)", "rule=\(rule ?? "-")"]
        words.append(contentsOf: Self.spellings(of: tick - Timeline.epoch).map { "@" + $0 })
        for window in windows {
            for (key, count) in window.counts.sorted(by: { $0.key < $1.key }) {
                words.append("\(window.seconds).\(key)=\(count)")
            }
            words.append("\(window.seconds).rate=\(Self.rounded(window.rate))")
            words.append("\(window.seconds).low=\(Self.rounded(window.low))")
            words.append("\(window.seconds).high=\(Self.rounded(window.high))")
        }
        return words.joined(separator: " ")
    }

    private static func rounded(_ rate: Double?) -> String {
        rate.map { String(format: "%.4f", $0) } ?? "-"
    }

    /// A time in every way a timeline may write it.
    private static func spellings(of time: Int64) -> [String] {
        var spellings = ["\(time)ms"]
        if time % 1_000 == 0 { spellings.append("\(time / 1_000)s") }
        if time % 60_000 == 0 { spellings.append("\(time / 60_000)m") }
        if time % 3_600_000 == 0 { spellings.append("\(time / 3_600_000)h") }
        return spellings
    }
}
