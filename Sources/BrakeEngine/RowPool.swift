// Every app's rows of panes, by reference. A metric that an app does not have costs four bytes.

/// Refers to a row; `none` is a row of zeros that takes no memory.
struct RowReference: BitwiseCopyable, Equatable {
    static let none = RowReference(bits: 0)
    private static let indexBits: UInt32 = 30
    private static let indexMask: UInt32 = 1 << indexBits - 1

    private var bits: UInt32

    private init(bits: UInt32) { self.bits = bits }

    init(width: Width, index: UInt32) {
        precondition(index <= Self.indexMask, "the process has no room for so many rows")
        bits = width.rawValue << Self.indexBits | index
    }

    /// The bytes of a counter.
    enum Width: UInt32 { case none = 0, one = 1, two = 2, four = 3 }

    @inline(__always) var width: Width {
        switch bits &>> Self.indexBits {
        case 0: .none
        case 1: .one
        case 2: .two
        default: .four
        }
    }
    @inline(__always) var index: UInt32 { bits & Self.indexMask }
    @inline(__always) var isNone: Bool { bits == 0 }
}

/// The rows of all apps in three widths. A row begins with one-byte counters and moves to wider
/// ones when a pane is full, so a million quiet apps fit where ten thousand loud ones do too.
struct RowPool: ~Copyable {
    private var ones = Slab(blank: PaneRow<UInt8>())
    private var twos = Slab(blank: PaneRow<UInt16>())
    private var fours = Slab(blank: PaneRow<UInt32>())

    /// The sum over a window. O(1).
    @inline(__always)
    func sum(_ row: RowReference, window: Int) -> Int {
        switch row.width {
        case .none: 0
        case .one: Int(ones[row.index].sums[window])
        case .two: Int(twos[row.index].sums[window])
        case .four: Int(fours[row.index].sums[window])
        }
    }

    /// Adds one at a second; false when the count can hold no more (2^32 - 1 in an hour).
    @inline(__always)
    mutating func add(to row: inout RowReference, at second: UInt32, head: UInt32) -> Bool {
        switch row.width {
        case .one:
            if ones[row.index].add(at: second, head: head) { return true }
        case .two:
            if twos[row.index].add(at: second, head: head) { return true }
        case .four:
            guard fours[row.index].sums[2] < UInt32.max else { return false }
            return fours[row.index].add(at: second, head: head)
        case .none:
            break
        }
        widen(&row)
        return add(to: &row, at: second, head: head)
    }

    private mutating func widen(_ row: inout RowReference) {
        switch row.width {
        case .none:
            row = RowReference(width: .one, index: ones.allocate())
        case .one:
            let wide = twos.allocate()
            twos[wide] = ones[row.index].widened(to: UInt16.self)
            ones.deallocate(row.index)
            row = RowReference(width: .two, index: wide)
        case .two, .four:
            let wide = fours.allocate()
            fours[wide] = twos[row.index].widened(to: UInt32.self)
            twos.deallocate(row.index)
            row = RowReference(width: .four, index: wide)
        }
    }

    /// Moves a row's head; gives the row back when nothing is left in it.
    @inline(__always)
    mutating func slide(_ row: inout RowReference, from old: UInt32, to new: UInt32) {
        let isEmpty: Bool
        switch row.width {
        case .none: return
        case .one:
            ones[row.index].slide(from: old, to: new)
            isEmpty = ones[row.index].sums[2] == 0
        case .two:
            twos[row.index].slide(from: old, to: new)
            isEmpty = twos[row.index].sums[2] == 0
        case .four:
            fours[row.index].slide(from: old, to: new)
            isEmpty = fours[row.index].sums[2] == 0
        }
        if isEmpty { release(&row) }
    }

    private mutating func release(_ row: inout RowReference) {
        switch row.width {
        case .none: return
        case .one: ones.deallocate(row.index)
        case .two: twos.deallocate(row.index)
        case .four: fours.deallocate(row.index)
        }
        row = .none
    }

    /// The count in one of the 180 panes of a row.
    func pane(_ row: RowReference, _ place: Int) -> UInt32 {
        switch row.width {
        case .none: 0
        case .one: UInt32(ones[row.index].panes[place])
        case .two: UInt32(twos[row.index].panes[place])
        case .four: fours[row.index].panes[place]
        }
    }

    /// A row with these panes, as narrow as they allow: for restoring.
    mutating func makeRow(panes: borrowing ContiguousArray<UInt32>) -> RowReference {
        precondition(panes.count == Panes.windows * Panes.perWindow, "a row has 180 panes")
        let most = panes.reduce(0, max)
        if most == 0 { return .none }
        let width: RowReference.Width = most < 256 ? .one : most < 65_536 ? .two : .four
        let index =
            switch width {
            case .one, .none: ones.allocate()
            case .two: twos.allocate()
            case .four: fours.allocate()
            }
        for (place, count) in panes.enumerated() where count > 0 {
            let window = place / Panes.perWindow
            switch width {
            case .one, .none:
                ones[index].panes[place] = UInt8(count)
                ones[index].sums[window] &+= count
            case .two:
                twos[index].panes[place] = UInt16(count)
                twos[index].sums[window] &+= count
            case .four:
                fours[index].panes[place] = count
                fours[index].sums[window] &+= count
            }
        }
        return RowReference(width: width, index: index)
    }

    /// Reads a row's first bytes so that they are near when they are needed.
    @inline(__always)
    func touch(_ row: RowReference) -> UInt32 {
        row.width == .one ? ones[row.index].sums[0] : 0
    }
}
