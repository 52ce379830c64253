// The policy documents that tests decide by: the two built in and others made to show every edge.
import Foundation

enum TestPolicy {
    /// For random streams. `probe` is for timelines only.
    static let names = [
        "article", "default", "step-sessions", "jump-events", "empty-step", "quick", "slow",
    ]

    /// The document's text, empty when there is none of this name.
    static func text(_ name: String) -> String {
        let file = Bundle.module.url(
            forResource: name, withExtension: "json", subdirectory: "Policies")
        return file.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? ""
    }
}
