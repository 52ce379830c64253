// What a restore has found and done, for those who wait for it.

import BrakeModel
import BrakeWire
import EventLog
import Runtime

/// How far a restore is, and by what a partition has been brought back.
struct RestoreAccount {
    /// What a partition was brought back by.
    enum Origin {
        /// There was nothing yet.
        case nothing
        /// The state that this lane had itself.
        case kept
        case snapshot
        /// All epochs from the first, each compared.
        case everyEpoch
        /// States as published, and windows from the inputs that are still there.
        case publishedStates
    }

    /// What takes its time.
    enum Stage: String {
        case snapshot = "reading a snapshot, bytes"
        case states = "reading published states, offsets"
        case inputs = "counting again, records"
    }

    var origin = Origin.nothing
    /// Counted again.
    var epochs = 0
    var epochsCompared = 0
    var records = 0
    /// Taken from the table.
    var states = 0
    /// What is left of the inputs, when their beginning is gone.
    var firstOffsets: EpochRecord.Offsets?
    /// The first epoch that is left.
    var firstEpoch: Int64?
    private(set) var stage: Stage?
    private(set) var done = 0
    private(set) var total = 0
    /// When the stage began, ms of a steady clock.
    private var begunAt: Int64 = 0

    mutating func note(_ stage: Stage, _ done: Int, of total: Int, now: Int64) {
        if stage != self.stage { begunAt = now }
        self.stage = stage
        self.done = done
        self.total = total
    }

    /// How long this stage will take at the pace so far; nil while nothing is done.
    func secondsLeft(now: Int64) -> Int? {
        guard done > 0 else { return nil }
        let left = Double(now - begunAt) / 1_000 * Double(max(0, total - done)) / Double(done)
        return Int(min(left.rounded(.up), 1e9))
    }

    /// For the line that tells of a rebuild.
    var words: [String: LogValue] {
        var words: [String: LogValue] = [
            "epochs": LogValue(epochs), "epochs_compared": LogValue(epochsCompared),
            "records": LogValue(records),
        ]
        switch origin {
        case .nothing, .kept, .snapshot: words["from"] = "nothing: no epoch is there"
        case .everyEpoch: words["from"] = "every epoch from the first, each with its checksum"
        case .publishedStates:
            words["from"] = "states as published, windows from the inputs"
            words["states"] = LogValue(states)
        }
        if let firstOffsets {
            let gone = EventType.allCases.filter { firstOffsets[$0] > 0 }.map { type in
                "\(type.name) before offset \(firstOffsets[type])"
            }
            words["no_longer_there"] = .text(gone.joined(separator: ", "))
        }
        return words
    }
}
