// Signs that ads annoy, by app and country, over an hour and a day: what a stress index is made of.

import BrakeModel

/// What is counted of an app in a country: a ring of panes for each of both windows. Panes are
/// coarse, since caps need no second's notice; a window moves as all others do.
struct StressRow: BitwiseCopyable {
    /// Of five minutes each.
    static let hourPanes = 12
    /// Of an hour each.
    static let dayPanes = 24
    static let panesCount = hourPanes + dayPanes

    let slot: UInt32
    /// As `CountryCode.number`, 0: not known.
    let country: UInt16
    /// The newest second of both rings.
    private(set) var head: UInt32
    private var panes = InlineArray<36, StressCounts>(repeating: StressCounts())

    init(slot: UInt32, country: UInt16, head: UInt32) {
        self.slot = slot
        self.country = country
        self.head = head
    }

    /// The pane of a second in the ring of a window, 0: the hour, 1: the day.
    private static func pane(_ second: UInt32, _ window: Int) -> UInt32 {
        window == 0 ? second / 300 : second / 3_600
    }

    private static func size(_ window: Int) -> Int { window == 0 ? hourPanes : dayPanes }
    private static func base(_ window: Int) -> Int { window == 0 ? 0 : hourPanes }

    /// Adds to every window that reaches this second, which is not after the head.
    mutating func add(_ counts: StressCounts, at second: UInt32) {
        for window in 0...1 {
            let pane = Self.pane(second, window)
            let size = UInt32(Self.size(window))
            guard Self.pane(head, window) &- pane < size else { continue }
            panes[Self.base(window) + Int(pane % size)] += counts
        }
    }

    /// Moves the head and empties the panes that leave. O(panes passed), at most 36.
    mutating func slide(to second: UInt32) {
        guard second > head else { return }
        for window in 0...1 {
            let first = Self.pane(head, window)
            let size = UInt32(Self.size(window))
            for passed in 0..<min(Self.pane(second, window) - first, size) {
                panes[Self.base(window) + Int((first + 1 + passed) % size)] = StressCounts()
            }
        }
        head = second
    }

    /// What a window holds.
    func sum(_ window: Int) -> StressCounts {
        var sum = StressCounts()
        for place in 0..<Self.size(window) { sum += panes[Self.base(window) + place] }
        return sum
    }

    /// Hands over the panes that hold something, in order of place.
    func forEachPane(_ body: (_ place: Int, _ counts: StressCounts) -> Void) {
        for place in 0..<Self.panesCount where !panes[place].isEmpty { body(place, panes[place]) }
    }

    mutating func restore(_ counts: StressCounts, place: Int) { panes[place] = counts }
}

/// What has been told of an app.
struct StressTold: Equatable {
    /// Of what the last record said, 0 before the first.
    var hash: UInt64 = 0
    /// The tick of that record.
    var at = StressTold.never
    /// The countries whose caps are tightened, each with how: see `StressTable.tightening`.
    var tightenings: [UInt32] = []

    static let never: Int64 = -1
}

/// The rows of all apps that annoy, or tell how long their ads are looked at.
///
/// An app is counted from its first signal or dismissal on, until none is left in the day. So apps
/// that send nothing of the kind cost nothing but a bit in their slot, and an index can at first
/// know of fewer impressions than there were: rules ask for a least number of them.
struct StressTable {
    /// Stands for all countries of an app.
    static let allCountries = UInt16.max

    /// The most countries of apps that are counted at once.
    let placesMax: Int
    private(set) var rows: ContiguousArray<StressRow> = []
    private var places: [UInt64: Int] = [:]
    /// By slot: every app that is counted has an entry.
    var told: [UInt32: StressTold] = [:]

    init(placesMax: Int) { self.placesMax = placesMax }

    var isEmpty: Bool { told.isEmpty }

    /// How the caps of a country are tightened, in one number, sorted by country.
    static func tightening(_ country: UInt16, _ nonFatals: Int) -> UInt32 {
        UInt32(country) << 8 | UInt32(nonFatals)
    }

    /// Counts for an app, which has an entry in `told`, in a country; false when there are too many
    /// countries.
    mutating func add(
        _ counts: StressCounts, slot: UInt32, country: UInt16, at second: Int64, head: UInt32
    ) -> Bool {
        let key = UInt64(slot) << 16 | UInt64(country)
        let place: Int
        if let known = places[key] {
            place = known
        } else {
            guard rows.count < placesMax else { return false }
            place = rows.count
            insert(StressRow(slot: slot, country: country, head: head))
        }
        rows[place].slide(to: head)
        if let second = UInt32(exactly: second) { rows[place].add(counts, at: second) }
        return true
    }

    mutating func insert(_ row: StressRow) {
        places[UInt64(row.slot) << 16 | UInt64(row.country)] = rows.count
        rows.append(row)
    }

    /// Whether there is a row for a country of an app.
    func has(slot: UInt32, country: UInt16) -> Bool {
        places[UInt64(slot) << 16 | UInt64(country)] != nil
    }

    /// Moves all windows to a second, forgets the apps of which neither a signal nor a dismissal is
    /// left, and the countries of which nothing is. Returns the apps that are forgotten.
    /// O(places log places): to be called once a minute.
    mutating func slide(to head: UInt32) -> [UInt32] {
        var isAnnoying: Set<UInt32> = []
        var kept: ContiguousArray<StressRow> = []
        for place in rows.indices {
            rows[place].slide(to: head)
            let day = rows[place].sum(1)
            if day.signals > 0 || day.dismissals > 0 { isAnnoying.insert(rows[place].slot) }
        }
        for row in rows where isAnnoying.contains(row.slot) && !row.sum(1).isEmpty {
            kept.append(row)
        }
        // In this order the rows of an app stand together.
        kept.sort { ($0.slot, $0.country) < ($1.slot, $1.country) }
        rows = []
        places.removeAll(keepingCapacity: true)
        for row in kept { insert(row) }
        let forgotten = told.keys.filter { !isAnnoying.contains($0) }.sorted()
        return forgotten
    }
}
