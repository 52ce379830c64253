// Whoever can be asked to decide over a timeline.
import Testing

struct TimelineDecider: Sendable, CustomTestStringConvertible {
    let name: String
    let changes: @Sendable (_ input: [String], _ policy: String) throws -> [ReferenceChange]

    static let all = [
        TimelineDecider(name: "reference") { input, policy in
            Reference.changes(over: input, try #require(ReferencePolicy(policy)))
        },
        TimelineDecider(name: "replay") { input, policy in
            let bytes = Array(input.joined(separator: "\n").utf8)
            return try ReplayRun(bytes, policy: policy, cuts: [bytes.count]).changes()
        },
    ]

    var testDescription: String { name }

    /// Checks that this decider decides as the story tells.
    func check(_ story: (title: String, text: String)) throws {
        let timeline = try Timeline(story.text)
        let changes = try changes(timeline.input, timeline.policy)
        for difference in timeline.differences(from: changes) {
            Issue.record("\(name), \(story.title): \(difference)")
        }
    }
}
