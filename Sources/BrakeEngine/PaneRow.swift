// The counts of one metric of one app: three rings of panes with their running sums.

/// The shape that all three windows share: each is a ring of 60 panes, of 1, 10 and 60 s.
enum Panes {
    static let perWindow = 60
    static let windows = 3
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

    @inline(__always)
    static func pane(ofSecond second: UInt32, window: Int) -> UInt32 {
        switch window {
        case 0: second
        case 1: second / 10
        default: second / 60
        }
    }
}

/// One metric's panes, in counters of one width: most apps never need more than a byte.
///
/// The newest pane of each ring is that of the app's head second, which all its rows share. Sums
/// and panes are exact; whoever adds makes sure that neither overflows.
struct PaneRow<Counter: FixedWidthInteger & UnsignedInteger & BitwiseCopyable & Sendable>:
    BitwiseCopyable
{
    var sums = InlineArray<3, UInt32>(repeating: 0)
    var panes = InlineArray<180, Counter>(repeating: 0)

    /// Adds one at a second, in every window that reaches it; false, and nothing done, when a
    /// counter is full. The second is not after the head.
    @inline(__always)
    mutating func add(at second: UInt32, head: UInt32) -> Bool {
        var places = InlineArray<3, Int>(repeating: -1)
        for window in 0..<Panes.windows {
            let pane = Panes.pane(ofSecond: second, window: window)
            let newest = Panes.pane(ofSecond: head, window: window)
            guard newest &- pane < UInt32(Panes.perWindow) else { continue }
            let place = window &* Panes.perWindow &+ Int(pane % UInt32(Panes.perWindow))
            if panes[place] == Counter.max { return false }
            places[window] = place
        }
        for window in 0..<Panes.windows where places[window] >= 0 {
            panes[places[window]] &+= 1  // below its maximum, as just seen
            sums[window] &+= 1  // at most 60 panes; the caller keeps it below 2^32
        }
        return true
    }

    /// Moves the head: what leaves a window is taken from its sum. O(panes passed), at most 180.
    mutating func slide(from old: UInt32, to new: UInt32) {
        for window in 0..<Panes.windows {
            let first = Panes.pane(ofSecond: old, window: window)
            let last = Panes.pane(ofSecond: new, window: window)
            // Coarser panes do not change where finer ones did not.
            if first == last { return }
            if sums[window] == 0 { continue }
            let passed = min(last &- first, UInt32(Panes.perWindow))
            let base = window &* Panes.perWindow
            var place = Int((first &+ 1) % UInt32(Panes.perWindow))
            for _ in 0..<passed {
                sums[window] &-= UInt32(truncatingIfNeeded: panes[base &+ place])
                panes[base &+ place] = 0
                place &+= 1
                if place == Panes.perWindow { place = 0 }
            }
        }
    }

    /// The same counts in wider counters.
    func widened<Wide>(to: Wide.Type) -> PaneRow<Wide> {
        var wide = PaneRow<Wide>()
        wide.sums = sums
        for place in 0..<panes.count { wide.panes[place] = Wide(panes[place]) }
        return wide
    }
}
