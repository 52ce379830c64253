// The stress index: counted aside from all other counts, told once a minute where it has changed.

package import BrakeModel

/// What has come out of an app's stress at a tick.
package struct StressChange: Sendable, Equatable {
    package var app: AppID
    /// The tick, ms since 1970.
    package var clock: Int64
    /// Nil: there is nothing to tell of it any more.
    package var index: StressIndex?
}

extension Evaluator {
    /// Indexes are told at the multiples of this, whatever the ticks of policies are.
    static let stressTickMilliseconds: Int64 = 60_000
    /// What has not changed is told this often all the same, so that a reader can tell by its age
    /// a record that nobody looks after any more.
    private static let stressRepeatMilliseconds: Int64 = 3_600_000

    /// Counts an ad event or a signal for the stress of its app and country. Not inlined: apps that
    /// never annoy never come here.
    @inline(never)
    mutating func countStress(_ event: Event, at second: Int64, in slot: UInt32) {
        if !apps.slots[slot].isStressed {
            apps.slots[slot].isStressed = true
            stress.told[slot] = StressTold()
            startStressTicks()
        }
        var counts = StressCounts()
        let circumstances = event.circumstances
        switch event.meaning {
        case .impression: counts.impressions = event.count
        case .signal: counts.signals = 1
        case .dismissal:
            counts.dismissals = event.count
            // Both bounded by the decoder: a million times ten minutes.
            counts.delay = event.count * circumstances.dismissMilliseconds
        default: return
        }
        let country = CountryCode.isNumber(circumstances.country) ? circumstances.country : 0
        let isCounted = stress.add(
            counts, slot: slot, country: country, at: second, head: apps.slots[slot].lastSecond)
        if !isCounted { tallied.refusedCountries += 1 }
    }

    /// Has the next full minute tell of stress, if there is any.
    mutating func startStressTicks() {
        let tick = Self.stressTickMilliseconds
        stressTick = stress.isEmpty ? .max : (max(0, clock) / tick + 1) * tick
        nextDecision = min(nextDecision, stressTick)
    }

    /// Tells what has changed of all indexes, at a full minute.
    mutating func tellStress(at tick: Int64, into decisions: inout Decisions) {
        var told: [(change: StressChange, slot: UInt32, told: StressTold)] = []
        for slot in stress.slide(to: Panes.headSecond(at: tick - 1)) {
            apps.slots[slot].isStressed = false
            let change = StressChange(app: apps.name(of: slot), clock: tick, index: nil)
            told.append((change, slot, StressTold()))
        }
        var first = 0
        while first < stress.rows.count {
            let slot = stress.rows[first].slot
            let end = stress.rows[first...].firstIndex { $0.slot != slot } ?? stress.rows.count
            let index = stressIndex(of: slot, rows: first..<end, tick: tick)
            let news = StressTold(
                hash: index.contentHash, at: tick, tightenings: index.tightenings)
            let change = StressChange(app: index.app, clock: tick, index: index)
            told.append((change, slot, news))
            first = end
        }
        // Sorted: which slot an app has may differ after a restore.
        told.sort { $0.change.app < $1.change.app }
        for (change, slot, news) in told {
            let before = stress.told[slot] ?? StressTold()
            if news.tightenings != before.tightenings {
                roll(change.app, news.tightenings, tick: tick)
                decisions.tightenings += 1
            }
            if change.index == nil {
                stress.told[slot] = nil
                if before.at != StressTold.never { decisions.stress.append(change) }
            } else if news.hash != before.hash
                || tick - before.at >= Self.stressRepeatMilliseconds
            {
                stress.told[slot] = news
                decisions.stress.append(change)
            }
        }
        startStressTicks(after: tick)
    }

    private mutating func startStressTicks(after tick: Int64) {
        stressTick = stress.isEmpty ? .max : tick + Self.stressTickMilliseconds
    }

    /// Caps that a policy tightens are a decision, and part of the checksum as any other.
    private mutating func roll(_ app: AppID, _ tightenings: [UInt32], tick: Int64) {
        checksum = StableHash.combine(
            checksum ^ StableHash.of(app.text), UInt64(bitPattern: tick) << 2)
        for tightening in tightenings {
            checksum = StableHash.combine(checksum, UInt64(tightening))
        }
    }

    private func stressIndex(of slot: UInt32, rows: Range<Int>, tick: Int64) -> StressIndex {
        var all = StressPlace(country: nil, hour: StressCounts(), day: StressCounts())
        var countries: [StressPlace] = []
        let rules = plans[Int(apps.slots[slot].policy)].policy.stress
        for row in rows {
            let (hour, day) = (stress.rows[row].sum(0), stress.rows[row].sum(1))
            all.hour += hour
            all.day += day
            guard let country = CountryCode(number: stress.rows[row].country) else { continue }
            var place = StressPlace(country: country, hour: hour, day: day)
            place.tighten(by: rules)
            countries.append(place)
        }
        all.tighten(by: rules)
        if countries.count > StressIndex.countriesMax {
            // Stable, so that of equal ones the first by code stay.
            let ranked = countries.enumerated().sorted { one, other in
                (-one.element.day.impressions, one.offset)
                    < (-other.element.day.impressions, other.offset)
            }
            let kept = ranked.prefix(StressIndex.countriesMax).map(\.offset).sorted()
            countries = kept.map { countries[$0] }
        }
        return StressIndex(
            app: apps.name(of: slot), clock: tick, all: all, countries: countries)
    }
}

extension StressPlace {
    /// Applies the strictest of the rules that hold; of equal ones the first.
    fileprivate mutating func tighten(by rules: [StressRule]) {
        for rule in rules where rule.nonFatals > nonFatals && rule.holds(for: self) {
            nonFatals = rule.nonFatals
            self.rule = rule.name
        }
    }

    fileprivate var contentHash: UInt64 {
        var hash = UInt64(country?.number ?? StressTable.allCountries) << 8 | UInt64(nonFatals)
        for counts in [hour, day] {
            for count in [counts.impressions, counts.signals, counts.dismissals, counts.delay] {
                hash = StableHash.combine(hash, UInt64(bitPattern: count))
            }
        }
        return rule.map { StableHash.combine(hash, StableHash.of($0)) } ?? hash
    }
}

extension StressIndex {
    /// Of all but its clock, and never 0.
    fileprivate var contentHash: UInt64 {
        let hash = countries.reduce(all.contentHash) { hash, place in
            StableHash.combine(hash, place.contentHash)
        }
        return max(1, hash)
    }

    fileprivate var tightenings: [UInt32] {
        (countries + [all]).filter { $0.nonFatals > 0 }.map { place in
            StressTable.tightening(
                place.country?.number ?? StressTable.allCountries, place.nonFatals)
        }
    }
}

extension StressRule {
    /// Whether it holds for a place.
    func holds(for place: StressPlace) -> Bool {
        switch condition {
        case .signalsPerThousandAtLeast(let limit, let window):
            let counts = window == .hour ? place.hour : place.day
            // One rounding on either side, as everywhere that shares are compared.
            return counts.impressions > 0 && counts.impressions >= minImpressions
                && Double(counts.signals) * 1_000 >= limit * Double(counts.impressions)
        case .dismissTrendAtLeast(let limit):
            guard place.hour.impressions >= minImpressions, let trend = place.dismissTrend else {
                return false
            }
            return trend >= limit
        }
    }
}

// MARK: Snapshots

extension Evaluator {
    func writeStress(to writer: inout SnapshotWriter) {
        writer.write(stress.told.count)
        for (slot, told) in stress.told.sorted(by: { $0.key < $1.key }) {
            writer.write(UInt64(slot))
            writer.write(fixed: told.hash)
            writer.write(signed: told.at)
            writer.write(told.tightenings.count)
            for tightening in told.tightenings { writer.write(UInt64(tightening)) }
        }
        writer.write(stress.rows.count)
        let rows = stress.rows.sorted { ($0.slot, $0.country) < ($1.slot, $1.country) }
        for row in rows {
            writer.write(UInt64(row.slot))
            writer.write(UInt64(row.country))
            writer.write(UInt64(row.head))
            var count = 0
            row.forEachPane { _, _ in count += 1 }
            writer.write(count)
            row.forEachPane { place, counts in
                writer.write(place)
                for number in [
                    counts.impressions, counts.signals, counts.dismissals, counts.delay,
                ] { writer.write(UInt64(bitPattern: number)) }
            }
        }
    }

    mutating func restoreStress(from reader: inout SnapshotReader) throws(RestoreFault) {
        for _ in 0..<(try reader.number(upTo: apps.count)) {
            let slot = try restoreStressedSlot(from: &reader)
            guard !apps.slots[slot].isStressed else { throw .damaged }
            apps.slots[slot].isStressed = true
            var told = StressTold(hash: try reader.fixed(), at: try reader.signed())
            guard (StressTold.never...Int64(1 << 53)).contains(told.at) else { throw .damaged }
            for _ in 0..<(try reader.number(upTo: StressIndex.countriesMax + 1)) {
                told.tightenings.append(UInt32(try reader.number(upTo: Int(UInt32.max))))
            }
            stress.told[slot] = told
        }
        for _ in 0..<(try reader.number(upTo: limits.stressPlacesMax)) {
            let slot = try restoreStressedSlot(from: &reader)
            let country = UInt16(try reader.number(upTo: Int(UInt16.max)))
            guard apps.slots[slot].isStressed, !stress.has(slot: slot, country: country) else {
                throw .damaged
            }
            let head = UInt32(try reader.number(upTo: Int(Panes.headSecond(at: max(clock, 0)))))
            var row = StressRow(slot: slot, country: country, head: head)
            for _ in 0..<(try reader.number(upTo: StressRow.panesCount)) {
                let place = try reader.number(upTo: StressRow.panesCount - 1)
                var counts = StressCounts()
                counts.impressions = Int64(try reader.number(upTo: .max))
                counts.signals = Int64(try reader.number(upTo: .max))
                counts.dismissals = Int64(try reader.number(upTo: .max))
                counts.delay = Int64(try reader.number(upTo: .max))
                row.restore(counts, place: place)
            }
            stress.insert(row)
        }
        startStressTicks()
    }

    private func restoreStressedSlot(
        from reader: inout SnapshotReader
    ) throws(RestoreFault) -> UInt32 {
        let slot = try reader.number(upTo: Int(UInt32.max) - 1)
        guard slot < apps.count else { throw .damaged }
        return UInt32(slot)
    }
}
