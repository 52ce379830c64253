// Whoever can be asked to decide over a timeline.
import Testing

struct TimelineDecider: Sendable, CustomTestStringConvertible {
    let name: String
    let changes: @Sendable (_ input: [String], ReferencePolicy) throws -> [ReferenceChange]

    static let all = [
        TimelineDecider(name: "reference") { Reference.changes(over: $0, $1) },
        TimelineDecider(name: "replay") { input, policy in
            let bytes = Array(input.joined(separator: "\n").utf8)
            return try ReplayRun(bytes, policy, cuts: [bytes.count]).changes()
        },
    ]

    var testDescription: String { name }

    /// Checks that this decider decides as the story tells.
    func check(_ story: (title: String, text: String)) throws {
        let timeline = try Timeline(story.text)
        let policy = try #require(ReferencePolicy(timeline.policy))
        let changes = try changes(timeline.input, policy)
        for difference in timeline.differences(from: changes) {
            Issue.record("\(name), \(story.title): \(difference)")
        }
    }
}
