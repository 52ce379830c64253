// Reading ahead: what the next events will need is fetched while earlier ones are counted.

import BrakeModel

extension Evaluator {
    /// How many events are looked at together.
    static let lookahead = 32

    /// Loads the slots, rows and remembered ids that these events will most likely touch. With a
    /// million apps every one of these is a cache miss; loads that do not depend on one another
    /// wait together instead of one after the other. It changes nothing.
    @inline(__always)
    mutating func warm(_ batch: EventBatch, _ places: Range<Int>) {
        var slots = InlineArray<32, UInt32>(repeating: 0)
        var heat: UInt32 = 0
        var last = (name: UInt32.max, slot: UInt32.max)
        for place in places {
            let event = batch.events[place]
            // Events of one record share their app's id.
            if event.nameOffset != last.name {
                last = (event.nameOffset, apps.guess(event.appHash) ?? .max)
            }
            slots[place &- places.lowerBound] = last.slot
            if event.meaning == .start, event.sessionHash != 0 {
                heat &+= seenSessions.touch(
                    StableHash.combine(event.appHash, event.sessionHash))
            }
        }
        for place in places {
            let slot = slots[place &- places.lowerBound]
            guard slot != .max else { continue }
            heat &+= apps.slots[slot].lastSecond &+ UInt32(apps.slots[slot].nameLength)
        }
        for place in places {
            let slot = slots[place &- places.lowerBound]
            guard slot != .max else { continue }
            let metric = Self.metric(of: batch.events[place].meaning)
            heat &+= rows.touch(apps.slots[slot].rows[metric])
            heat &+= UInt32(apps.firstByte(of: slot))
        }
        warmth = heat
    }

    private static func metric(of meaning: EventMeaning) -> Int {
        switch meaning {
        case .start, .nothing, .dismissal: Metric.sessions.rawValue
        case .alive: Metric.alive.rawValue
        case .crash: Metric.crashes.rawValue
        case .softError, .signal: Metric.softErrors.rawValue
        case .impression: Metric.impressions.rawValue
        case .adFailure: Metric.adFailures.rawValue
        }
    }
}
