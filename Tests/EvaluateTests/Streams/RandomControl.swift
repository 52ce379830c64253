// What people decide, at random between the lines of an input: policies and whom they are assigned
// to, overrides that begin, replace one another, end by themselves or are removed.

import BrakeModel

struct RandomControl {
    private var random: SeededGenerator
    private let base: String
    private let others: [String]

    /// The lines with so many decisions among them, each at a time of its own.
    static func inserted(
        into lines: [String], count: Int, base: String, seed: UInt64
    ) -> [String] {
        var random = SeededGenerator(seed: seed ^ 0x636f_6e74_726f_6c)
        let others = (0..<2).map { _ in random.pick(TestPolicy.names) }
        var control = RandomControl(random: random, base: base, others: others)
        let appends = lines.compactMap { JSONText($0)?["append"]?.integer }
        guard let first = appends.first, let last = appends.last else { return lines }
        var decided: [Int64: String] = [:]
        for _ in 0..<count {
            var append = control.random.number(first - 2_000...last)
            // Often right at a full second or beside it.
            if control.random.chance(0.4) {
                append = append / 1_000 * 1_000 + control.random.number(-1...1)
            }
            let value = control.value(at: append, span: last - first)
            decided[append] = "{\"append\":\(append),\"value\":\(value)}"
        }
        var merged: [String] = []
        var rest = decided.sorted { $0.key < $1.key }[...]
        for (line, append) in zip(lines, appends) {
            while let next = rest.first, next.key <= append {
                merged.append(next.value)
                rest.removeFirst()
            }
            merged.append(line)
        }
        return merged
    }

    private mutating func value(at append: Int64, span: Int64) -> String {
        switch random.number(0...9) {
        case 0...5: hold(at: append, span: span)
        case 6...7: assignment()
        default: policy()
        }
    }

    private mutating func hold(at append: Int64, span: Int64) -> String {
        let app = random.pick(["*", "app-0", "app-1", "app-2", "app-nobody-has-heard-of"])
        if random.chance(0.2) { return record("override", "\"app\":\"\(app)\",\"removed\":true") }
        let mode = random.pick(["pin", "at_least", "at_most"])
        let state = random.pick(ReferencePolicy.stateNames)
        var fields = "\"app\":\"\(app)\",\"mode\":\"\(mode)\",\"state\":\"\(state)\""
        if random.chance(0.7) {
            var end = append + random.pick([-1_500, 1, 999, 1_000, 60_000, span / 20, span / 3])
            if random.chance(0.5) { end = end / 1_000 * 1_000 + random.number(-1...1) }
            fields += ",\"expires_at\":\(end)"
        }
        return record("override", fields)
    }

    private mutating func assignment() -> String {
        let apps = random.pick(["*", "app-*", "app-1", "*-2", "app-0*", "a*p-*", "none"])
        if random.chance(0.2) {
            return record("assignment", "\"apps\":\"\(apps)\",\"removed\":true")
        }
        let policy = random.pick(others + [base, "nobody-knows-it"])
        return record("assignment", "\"apps\":\"\(apps)\",\"policy\":\"\(policy)\"")
    }

    private mutating func policy() -> String {
        let name = random.pick(others + [base])
        if random.chance(0.2) {
            return record("policy", "\"name\":\"\(name)\",\"removed\":true")
        }
        // The rules of one under the name of another, so that a name comes to mean something else.
        let document = TestPolicy.text(random.pick(others)).split(separator: "\n").joined()
            .replacing(#/"name": *"[^"]*"/#, with: "\"name\":\"\(name)\"", maxReplacements: 1)
        return record("policy", "\"name\":\"\(name)\",\"document\":\(document)")
    }

    private func record(_ type: String, _ fields: String) -> String {
        "{\"v\":1,\"type\":\"\(type)\",\(fields),\"by\":\"anna\",\"at\":1,\"reason\":\"a test\"}"
    }
}
