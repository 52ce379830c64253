// When to publish: at once what becomes stricter, all else once in a while, and after a failure
// later and later. A value; times are those of a steady clock, in ms.

import BrakeModel

struct PublishSchedule: Sendable {
    private static let pauseFirst: Int64 = 1_000
    private static let pauseMax: Int64 = 60_000
    /// After what only the operator can put right.
    private static let pauseHopeless: Int64 = 300_000

    let spacing: Int64
    let look: Int64
    /// What was wanted when the template was last in order; nil: it was not looked at yet.
    private var settled: [TemplateSlot: ThrottleState]?
    private var versionAt: Int64?
    private var lookedAt: Int64 = 0
    private var pauseUntil: Int64 = .min
    private var pause = PublishSchedule.pauseFirst

    init(spacing: Int64, look: Int64) {
        self.spacing = spacing
        self.look = look
    }

    /// Whether the template is to be looked at, and put in order, now.
    func isDue(_ wanted: [TemplateSlot: ThrottleState], now: Int64) -> Bool {
        guard now >= pauseUntil else { return false }
        guard let settled else { return true }
        let isStricter = wanted.contains { slot, state in state > settled[slot] ?? .normal }
        let isSpaced = versionAt.map { now - $0 >= spacing } ?? true
        return isStricter || (wanted != settled && isSpaced) || now - lookedAt >= look
    }

    /// The template is in order; `isNew`: by a version that was just published.
    mutating func settle(_ wanted: [TemplateSlot: ThrottleState], isNew: Bool, now: Int64) {
        settled = wanted
        lookedAt = now
        if isNew { versionAt = now }
        pauseUntil = .min
        pause = Self.pauseFirst
    }

    mutating func fail(_ remedy: BridgeFault.Remedy, now: Int64) {
        switch remedy {
        case .stop, .token: pauseUntil = now + Self.pauseHopeless
        case .retry(let seconds):
            let asked = Int64(min(seconds ?? 0, 3_600)) * 1_000
            pauseUntil = now + max(pause, asked)
            pause = min(2 * pause, Self.pauseMax)
        case .conflict:
            pauseUntil = now + pause
            pause = min(2 * pause, Self.pauseMax)
        }
    }
}
