// The counts of one metric of one app: three rings of panes with their running sums.

/// The shape that all three windows share: each is a ring of 60 panes, of 1, 10 and 60 s.
enum Panes {
    static let perWindow = 60
    static let windows = 3
    /// Longer than any window reaches back: 60 panes of a minute.
    static let hourSeconds: Int64 = 3_600
    /// Seconds added to every time of ours, so that what lies before 1970 stays positive. A
    /// multiple of every pane, and more than the longest window.
    static let secondsOffset: Int64 = 7_200
    /// The last second that can be stored: in the year 2106.
    static let secondMax = Int64(UInt32.max) - 2 * secondsOffset

    /// The second in which a time in milliseconds lies, as stored; below 0 is before any window.
    @inline(__always)
    static func second(ofMilliseconds time: Int64) -> Int64 {
        let floor = time >= 0 ? time / 1_000 : (time - 999) / 1_000
        return floor + secondsOffset
    }

    /// The newest second of windows at a clock, as stored.
    @inline(__always)
    static func headSecond(at time: Int64) -> UInt32 {
        UInt32(clamping: min(second(ofMilliseconds: time), secondMax))
    }

    @inline(__always)
    static func pane(ofSecond second: UInt32, window: Int) -> UInt32 {
        switch window {
        case 0: second
        case 1: second / 10
        default: second / 60
        }
    }
}

/// One metric's panes, in counters of one width: most apps never need more than a byte. Sums are
/// wider, so that 60 full panes fit; a row of bytes is 192 bytes, three cache lines.
///
/// A row has a head of its own, the newest second of its rings: it is moved when something is added
/// and when its sums are needed, not whenever another row of the app is. Sums and panes are exact.
struct PaneRow<
    Counter: FixedWidthInteger & UnsignedInteger & BitwiseCopyable & Sendable,
    Sum: FixedWidthInteger & UnsignedInteger & BitwiseCopyable & Sendable
>: SlabElement {
    var head: UInt32 = 0
    var sums = InlineArray<3, Sum>(repeating: 0)
    var panes = InlineArray<180, Counter>(repeating: 0)

    /// Adds so many at a second, in every window that reaches it; false, and nothing done, when a
    /// counter cannot hold them. The second is not after the head. Inlined, so that adding one,
    /// which nearly all do, costs no more than that.
    @inline(__always)
    mutating func add(_ several: Counter = 1, at second: UInt32) -> Bool {
        // The hour's sum is the largest. It can be full only where it is no wider than a pane.
        if Sum(several) > Sum.max - sums[Panes.windows - 1] { return false }
        var places = InlineArray<3, Int>(repeating: -1)
        for window in 0..<Panes.windows {
            let pane = Panes.pane(ofSecond: second, window: window)
            let newest = Panes.pane(ofSecond: head, window: window)
            guard newest &- pane < UInt32(Panes.perWindow) else { continue }
            let place = window &* Panes.perWindow &+ Int(pane % UInt32(Panes.perWindow))
            if several > Counter.max - panes[place] { return false }
            places[window] = place
        }
        for window in 0..<Panes.windows where places[window] >= 0 {
            panes[places[window]] &+= several  // below its maximum, as just seen
            sums[window] &+= Sum(several)  // not above the hour's, which is below its maximum
        }
        return true
    }

    /// Moves the head: what leaves a window is taken from its sum. O(panes passed), at most 180.
    @inline(__always)
    mutating func slide(to second: UInt32) {
        if second > head { slideOn(to: second) }
    }

    private mutating func slideOn(to second: UInt32) {
        for window in 0..<Panes.windows {
            let first = Panes.pane(ofSecond: head, window: window)
            let last = Panes.pane(ofSecond: second, window: window)
            // Coarser panes do not change where finer ones did not.
            if first == last { break }
            if sums[window] == 0 { continue }
            let passed = min(last &- first, UInt32(Panes.perWindow))
            let base = window &* Panes.perWindow
            var place = Int((first &+ 1) % UInt32(Panes.perWindow))
            for _ in 0..<passed {
                sums[window] &-= Sum(truncatingIfNeeded: panes[base &+ place])
                panes[base &+ place] = 0
                place &+= 1
                if place == Panes.perWindow { place = 0 }
            }
        }
        head = second
    }

    /// The same counts in wider counters.
    func widened<WideCounter, WideSum>(
        to: PaneRow<WideCounter, WideSum>.Type
    ) -> PaneRow<WideCounter, WideSum> {
        var wide = PaneRow<WideCounter, WideSum>()
        wide.head = head
        for window in 0..<Panes.windows { wide.sums[window] = WideSum(sums[window]) }
        for place in 0..<panes.count { wide.panes[place] = WideCounter(panes[place]) }
        return wide
    }

    /// Hands over the panes of a row that hold something, in order of place. Static, of a row where
    /// it lies: a method that changes nothing is given a copy.
    @unsafe
    @inline(__always)
    static func forEachPane(
        of row: UnsafePointer<Self>, _ body: (_ place: Int, _ count: UInt32) -> Void
    ) {
        for window in 0..<Panes.windows {
            let end = (window + 1) * Panes.perWindow
            var place = end - Panes.perWindow
            // Most rows hold little: done when all of it is found.
            var left = unsafe row.pointee.sums[window]
            while left > 0, place < end {
                let count = unsafe row.pointee.panes[place]
                if count > 0 { body(place, UInt32(count)) }
                left &-= Sum(truncatingIfNeeded: count)
                place += 1
            }
        }
    }

    /// Fills an empty row with panes, whose counts its counters can hold.
    mutating func restore(head: UInt32, panes counts: borrowing ContiguousArray<PaneCount>) {
        self.head = head
        for index in counts.indices {
            let (place, count) = (Int(counts[index].place), counts[index].count)
            panes[place] = Counter(count)
            sums[place / Panes.perWindow] &+= Sum(truncatingIfNeeded: count)
        }
    }

    init() {}
}

/// What a pane holds: its place in a row, and its count.
struct PaneCount: BitwiseCopyable {
    var place: UInt8
    var count: UInt32
}
