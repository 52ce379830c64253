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
    typealias One = PaneRow<UInt8, UInt16>
    typealias Two = PaneRow<UInt16, UInt32>
    typealias Four = PaneRow<UInt32, UInt32>

    private var ones = Slab<One>()
    private var twos = Slab<Two>()
    private var fours = Slab<Four>()

    /// The memory of all rows.
    var byteCount: Int { ones.byteCount + twos.byteCount + fours.byteCount }

    /// The sum over a window that ends at the row's head: slide it first. O(1).
    @inline(__always)
    func sum(_ row: RowReference, window: Int) -> Int {
        switch row.width {
        case .none: 0
        case .one: Int(ones[row.index].sums[window])
        case .two: Int(twos[row.index].sums[window])
        case .four: Int(fours[row.index].sums[window])
        }
    }

    /// Moves the row's head and adds one at a second, which is not after the head and within the
    /// hour; false when the count can hold no more (2^32 - 1 in an hour).
    @inline(__always)
    mutating func add(to row: inout RowReference, at second: UInt32, head: UInt32) -> Bool {
        switch row.width {
        case .one:
            ones[row.index].slide(to: head)
            if ones[row.index].add(at: second) { return true }
        case .two:
            twos[row.index].slide(to: head)
            if twos[row.index].add(at: second) { return true }
        case .four:
            fours[row.index].slide(to: head)
            return fours[row.index].add(at: second)
        case .none: break
        }
        widen(&row, head: head)
        return add(to: &row, at: second, head: head)
    }

    /// As `add`, so many at once; returns how many the count could no longer hold.
    mutating func add(
        _ count: UInt32, to row: inout RowReference, at second: UInt32, head: UInt32
    ) -> UInt32 {
        switch row.width {
        case .one:
            ones[row.index].slide(to: head)
            if let few = UInt8(exactly: count), ones[row.index].add(few, at: second) { return 0 }
        case .two:
            twos[row.index].slide(to: head)
            if let few = UInt16(exactly: count), twos[row.index].add(few, at: second) { return 0 }
        case .four:
            fours[row.index].slide(to: head)
            let fitting = min(count, UInt32.max - fours[row.index].sums[Panes.windows - 1])
            // No pane is above the hour's sum, so what fits into that fits into each.
            _ = fours[row.index].add(fitting, at: second)
            return count - fitting
        case .none: break
        }
        widen(&row, head: head)
        return add(count, to: &row, at: second, head: head)
    }

    private mutating func widen(_ row: inout RowReference, head: UInt32) {
        switch row.width {
        case .none:
            row = RowReference(width: .one, index: ones.allocate())
            ones[row.index].head = head
        case .one:
            let wide = twos.allocate()
            twos[wide] = ones[row.index].widened(to: Two.self)
            ones.deallocate(row.index)
            row = RowReference(width: .two, index: wide)
        case .two, .four:
            let wide = fours.allocate()
            fours[wide] = twos[row.index].widened(to: Four.self)
            twos.deallocate(row.index)
            row = RowReference(width: .four, index: wide)
        }
    }

    /// Moves a row's head; gives the row back when nothing is left in it.
    @inline(__always)
    mutating func slide(_ row: inout RowReference, to head: UInt32) {
        switch row.width {
        case .none: return
        case .one: ones[row.index].slide(to: head)
        case .two: twos[row.index].slide(to: head)
        case .four: fours[row.index].slide(to: head)
        }
        if sum(row, window: Panes.windows - 1) == 0 { release(&row) }
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

    /// Hands over the panes of a row that hold something, in order of place.
    @inline(__always)
    func forEachPane(_ row: RowReference, _ body: (_ place: Int, _ count: UInt32) -> Void) {
        switch row.width {
        case .none: return
        case .one: unsafe One.forEachPane(of: ones.place(of: row.index), body)
        case .two: unsafe Two.forEachPane(of: twos.place(of: row.index), body)
        case .four: unsafe Four.forEachPane(of: fours.place(of: row.index), body)
        }
    }

    /// The newest second of a row's rings.
    func head(_ row: RowReference) -> UInt32 {
        switch row.width {
        case .none: 0
        case .one: ones[row.index].head
        case .two: twos[row.index].head
        case .four: fours[row.index].head
        }
    }

    /// A row with these panes, as narrow as they allow: for restoring. Places are below 180 and
    /// differ; `most` is the largest count.
    mutating func makeRow(
        head: UInt32, most: UInt32, panes: borrowing ContiguousArray<PaneCount>
    ) -> RowReference {
        switch most {
        case 0: return .none
        case ...UInt32(UInt8.max):
            let index = ones.allocate()
            ones[index].restore(head: head, panes: panes)
            return RowReference(width: .one, index: index)
        case ...UInt32(UInt16.max):
            let index = twos.allocate()
            twos[index].restore(head: head, panes: panes)
            return RowReference(width: .two, index: index)
        default:
            let index = fours.allocate()
            fours[index].restore(head: head, panes: panes)
            return RowReference(width: .four, index: index)
        }
    }

    /// Has a narrow row fetched; what is wide is used often.
    @inline(__always)
    func prefetch(_ row: RowReference) {
        if row.width == .one { ones.prefetch(row.index) }
    }
}
