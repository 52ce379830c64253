// What a retry has done, in words and for scripts.

import BrakeModel
import BrakeWire

extension DeadRetry.Outcome {
    /// One line of JSON.
    package func json() -> [UInt8] {
        let bytes = JSONWriter.bytes { line in
            line.object { line in
                line.field("retried", retried)
                line.field("events", events)
                line.field("retried_before", retriedBefore)
                line.object("still_refused") { line in
                    for (reason, count) in refusedByName { line.field(foreign: reason, count) }
                }
                line.object("left") { line in
                    for (obstacle, count) in leftByName {
                        line.field(foreign: obstacle.rawValue, count)
                    }
                }
            }
        }
        return bytes + [UInt8(ascii: "\n")]
    }

    /// A sentence for each thing that came of it.
    package func text(isRehearsal: Bool) -> String {
        let verb = isRehearsal ? "would be retried" : "retried"
        var lines = ["\(retried) letters \(verb), \(events) events"]
        if retriedBefore > 0 { lines.append("\(retriedBefore) letters were retried before") }
        for (reason, count) in refusedByName {
            lines.append("\(count) letters cannot be used still: \(reason)")
        }
        for (obstacle, count) in leftByName {
            lines.append("\(count) letters left: \(Self.explanation(obstacle))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var refusedByName: [(String, Int)] {
        stillRefused.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
    }

    private var leftByName: [(DeadRetry.Obstacle, Int)] {
        left.map { ($0.key, $0.value) }.sorted { $0.0.rawValue < $1.0.rawValue }
    }

    private static func explanation(_ obstacle: DeadRetry.Obstacle) -> String {
        switch obstacle {
        case .gone: "longer than a letter keeps, and their records have been deleted"
        case .cut: "longer than a letter keeps, and uploads are in no topic"
        case .differs: "longer than a letter keeps, and other records are where theirs were"
        case .notARecord: "apps beyond --max-apps: raise it, and what they send from then on counts"
        case .otherApp: "came under another app's key: give --reason wrong_app to retry them too"
        }
    }
}
