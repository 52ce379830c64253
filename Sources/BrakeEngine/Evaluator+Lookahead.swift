// Looking ahead: what the next events will need is fetched while earlier ones are counted.

package import BrakeModel

extension Evaluator {
    /// How many events there are from one step of looking ahead to the next.
    static let lookahead = 16
    /// So many apps, with their rows, lie in a processor's second cache.
    static let cachedApps = 2_048

    /// The slots that the events ahead most likely have, by place; `AppTable.noGuess`: not known.
    private struct Guesses {
        /// More than from a guess to its event, and a power of two.
        private var slots = InlineArray<64, UInt32>(repeating: AppTable.noGuess)

        @inline(__always)
        subscript(place: Int) -> UInt32 {
            get { slots[place & (slots.count &- 1)] }
            set { slots[place & (slots.count &- 1)] = newValue }
        }
    }

    /// Counts some of a batch's events, in its order.
    package mutating func apply(
        _ batch: EventBatch, _ places: Range<Int>, into decisions: inout Decisions
    ) {
        if apps.count > Self.cachedApps {
            applyLookingAhead(batch, places, into: &decisions)
        } else {
            applyToCached(batch, places, into: &decisions)
        }
    }

    /// With a hundred thousand apps every slot, row and remembered id is a cache miss, and each is
    /// found by way of the one before: so events are looked at three times ahead of time, and
    /// nobody waits for the answer.
    private mutating func applyLookingAhead(
        _ batch: EventBatch, _ places: Range<Int>, into decisions: inout Decisions
    ) {
        var guesses = Guesses()
        var last = LastApp()
        for place in places.prefix(3 * Self.lookahead) { fetchEntries(batch, place) }
        for place in places.prefix(2 * Self.lookahead) { fetchSlot(batch, place, &guesses) }
        for place in places.prefix(Self.lookahead) { fetchRow(batch, place, of: guesses[place]) }
        for place in places {
            let (third, second, first) = (
                place &+ 3 &* Self.lookahead, place &+ 2 &* Self.lookahead, place &+ Self.lookahead
            )
            if third < places.upperBound { fetchEntries(batch, third) }
            if second < places.upperBound { fetchSlot(batch, second, &guesses) }
            if first < places.upperBound { fetchRow(batch, first, of: guesses[first]) }
            take(batch, at: place, guess: guesses[place], after: &last, into: &decisions)
        }
    }

    /// Few apps are at hand: only of sessions there are many.
    private mutating func applyToCached(
        _ batch: EventBatch, _ places: Range<Int>, into decisions: inout Decisions
    ) {
        var last = LastApp()
        for place in places {
            let ahead = place &+ Self.lookahead
            if ahead < places.upperBound { fetchSession(batch, ahead) }
            take(batch, at: place, guess: AppTable.noGuess, after: &last, into: &decisions)
        }
    }

    /// Where its app and its session are looked for.
    @inline(__always)
    private func fetchEntries(_ batch: EventBatch, _ place: Int) {
        apps.prefetch(batch.events[place].appHash)
        fetchSession(batch, place)
    }

    /// Where its session is looked for.
    @inline(__always)
    private func fetchSession(_ batch: EventBatch, _ place: Int) {
        guard batch.events[place].meaning == .start else { return }
        seenSessions.prefetch(
            StableHash.combine(batch.events[place].appHash, batch.events[place].sessionHash))
    }

    /// Its app's slot.
    @inline(__always)
    private func fetchSlot(_ batch: EventBatch, _ place: Int, _ guesses: inout Guesses) {
        let guess = apps.guess(batch.events[place].appHash)
        guesses[place] = guess
        if guess != AppTable.noGuess { apps.slots.prefetch(guess) }
    }

    /// The row in which it counts, and its app's id.
    @inline(__always)
    private func fetchRow(_ batch: EventBatch, _ place: Int, of guess: UInt32) {
        guard guess != AppTable.noGuess else { return }
        rows.prefetch(apps.slots[guess].rows[Self.metric(of: batch.events[place].meaning)])
        apps.prefetchName(of: guess)
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
