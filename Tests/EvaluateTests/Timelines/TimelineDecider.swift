// Whoever can be asked to decide over a timeline.
import Testing

struct TimelineDecider: Sendable {
    let name: String
    let changes: @Sendable (_ input: [String], _ policy: String) throws -> [ReferenceChange]

    static let reference = TimelineDecider(name: "reference") { input, policy in
        Reference.changes(over: input, try #require(ReferencePolicy(policy)))
    }

    /// Checks that this decider decides as the story tells.
    func check(_ story: (title: String, text: String)) throws {
        let timeline = try Timeline(story.text)
        let changes = try changes(timeline.input, timeline.policy)
        for difference in timeline.differences(from: changes) {
            Issue.record("\(name), \(story.title): \(difference)")
        }
    }
}
