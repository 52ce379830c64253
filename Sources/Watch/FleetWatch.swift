// Compares what the edge says with what it said before. Pure: answers in, lines out.
internal import BrakeModel

/// What a person watches for; then the watch ends.
package enum WatchGoal: String, Sendable, CaseIterable {
    /// Some app is in Throttle or Halt.
    case brake
    /// No app is in Throttle or Halt.
    case release
    /// Every app is in Normal.
    case normal
}

/// The fleet as last seen.
package struct FleetWatch: Sendable {
    /// Beyond so many apps, those in Normal are not listed one by one when the watch begins.
    static let firstLinesMax = 20

    private var known: [String: AppDocument] = [:]

    package init() {}

    /// Takes all apps of the edge and returns a line for each change, oldest first.
    package mutating func see(_ documents: [AppDocument]) -> [String] {
        let isFirst = known.isEmpty
        let isLarge = documents.count > Self.firstLinesMax
        var changes: [(since: Int64, line: String)] = []
        let last = known
        known = Dictionary(documents.map { ($0.app, $0) }) { $1 }
        for document in documents {
            let before = last[document.app]
            guard before?.state != document.state || before?.cause != document.cause else {
                continue
            }
            // Its first record, and calm: nothing to tell of a large fleet.
            if isFirst && isLarge && document.state == .normal { continue }
            // A new reason for the same state, such as an override, is a change too.
            changes.append(
                (document.since, ChangeText.line(from: before?.state, to: document)))
        }
        changes.sort { ($0.since, $0.line) < ($1.since, $1.line) }
        return changes.map(\.line)
    }

    /// Whether the fleet is as the goal says; never before it is known.
    package func hasReached(_ goal: WatchGoal) -> Bool {
        guard !known.isEmpty else { return false }
        let states = known.values.map(\.state)
        return switch goal {
        case .brake: states.contains { $0 >= .throttle }
        case .release: states.allSatisfy { $0 < .throttle }
        case .normal: states.allSatisfy { $0 == .normal }
        }
    }

    /// How many apps are in each state, in words.
    package func summary() -> String {
        let counts = ThrottleState.allCases.map { state in
            (state, known.values.count { $0.state == state })
        }
        return counts.filter { $0.1 > 0 }.map { "\($0.1) in \($0.0.name)" }.joined(separator: ", ")
    }
}
