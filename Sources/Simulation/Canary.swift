// Faults that are planted to see whether the checkers find them: the test of the alarm.

import EventLog

/// A way in which a worker could be wrong.
package enum Canary: String, CaseIterable, Sendable {
    /// Takes a record from the log and loses it.
    case skippedRecord = "skipped-record"
    /// Publishes an epoch twice.
    case doubledCommit = "doubled-commit"
    /// Publishes an epoch without one of its changes.
    case lostChange = "lost-change"
    /// Publishes all the same when it has been fenced.
    case unfencedZombie = "unfenced-zombie"
    /// An edge that takes what comes last, be it older than what it has.
    case olderRevision = "older-revision"

    /// How often it does so, given the chance.
    private static let share = 0.05

    func strikes(_ random: inout SimulationRandom) -> Bool {
        self == .unfencedZombie || self != .olderRevision && random.chance(Self.share)
    }

    /// The outputs that it would commit in place of these.
    func outputs(of outputs: [OutgoingRecord]) -> [OutgoingRecord] {
        switch self {
        case .skippedRecord, .unfencedZombie, .olderRevision: return outputs
        case .doubledCommit: return outputs + outputs
        case .lostChange:
            guard let change = outputs.firstIndex(where: { $0.topic == .throttle }) else {
                return outputs
            }
            var outputs = outputs
            outputs.remove(at: change)
            return outputs
        }
    }
}
