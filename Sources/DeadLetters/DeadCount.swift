// Letters counted by what they have in common.

import BrakeModel
import BrakeWire
package import EventLog

/// Counts letters in groups.
package struct DeadCount: Sendable {
    /// More groups than this are counted as one, named `...`.
    static let groupsMax = 10_000

    /// What letters of a group share.
    package enum Key: String, Sendable, CaseIterable {
        case reason
        case app
        case topic
        case stage

        /// What a letter has; `-` where that is not known.
        func value(of letter: DeadLetter) -> String {
            switch self {
            case .reason: letter.event.reason.rawValue
            case .app: letter.app?.text ?? "-"
            case .topic: letter.topic
            case .stage: letter.stage?.rawValue ?? "-"
            }
        }
    }

    package struct Group: Sendable, Equatable {
        package var value: String
        package var letters = 0
        package var retried = 0
    }

    /// The largest first; of equal ones by name.
    package let groups: [Group]

    /// Counts what the log has now.
    package init(_ log: any EventLog, filter: DeadFilter, by key: Key) throws(LogFault) {
        let topic = DeadTopic(log)
        let end = try topic.end()
        try topic.read { _ in }
        var groups: [String: Group] = [:]
        try topic.read(upTo: end) { letters in
            for stored in letters where filter.fits(stored) {
                var value = key.value(of: stored.letter)
                if groups[value] == nil && groups.count >= Self.groupsMax { value = "..." }
                groups[value, default: Group(value: value)].letters += 1
                if topic.retried.contains(stored.number) { groups[value]?.retried += 1 }
            }
        }
        self.groups = groups.values.sorted { ($1.letters, $0.value) < ($0.letters, $1.value) }
    }
}
