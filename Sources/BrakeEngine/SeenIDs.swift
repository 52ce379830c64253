// Which ids have been seen within a horizon of append time, in bounded memory.

/// Remembers ids, as hashes, for a horizon; the oldest give way when memory is full.
///
/// A queue in order of arrival with an index over it. What is remembered depends on the order of
/// calls alone, not on the layout, so a restored set answers as the original would have.
struct SeenIDs: ~Copyable {
    /// An id and when the log first took it.
    struct Entry: BitwiseCopyable {
        var hash: UInt64
        var append: Int64
    }

    private static let vacant = UInt32.max
    private static let capacityFirst = 1 << 10

    let horizonMilliseconds: Int64
    /// The most ids it holds.
    let capacityMax: Int
    /// How many ids had to give way before the horizon had passed.
    private(set) var displaced: Int64 = 0
    private(set) var count = 0

    /// A ring; an entry's ticket is its place in it.
    private var ring: ContiguousArray<Entry>
    private var oldest: UInt32 = 0
    /// Tickets by hash, open addressing with linear probing, at most half full. Above a ticket lie
    /// bits of its hash, so that ids which only share a place are told apart without the ring.
    private var index: ContiguousArray<UInt32>

    init(horizonMilliseconds: Int64, capacityMax: Int) {
        precondition(capacityMax >= Self.capacityFirst && capacityMax < 1 << 30)
        self.horizonMilliseconds = horizonMilliseconds
        self.capacityMax = capacityMax
        ring = .init(repeating: Entry(hash: 0, append: 0), count: Self.capacityFirst)
        index = .init(repeating: Self.vacant, count: 2 * Self.capacityFirst)
    }

    /// Whether the id is new at this append time, and if so remembers it. A repeat does not
    /// prolong the memory of the first. O(1), amortised.
    mutating func insert(_ hash: UInt64, append: Int64, clock: Int64) -> Bool {
        expire(before: clock - horizonMilliseconds)
        let mark = mark(hash)
        var place = Int(truncatingIfNeeded: hash) & (index.count - 1)
        while index[place] != Self.vacant {
            let slot = Int(index[place] & ticketMask)
            if index[place] & ~ticketMask == mark, ring[slot].hash == hash {
                if append - ring[slot].append <= horizonMilliseconds { return false }
                // Only a record that came out of order leaves one so old behind younger ones.
                ring[slot].append = append
                return true
            }
            place = (place + 1) & (index.count - 1)
        }
        if count == ring.count { makeRoom() }
        appendEntry(Entry(hash: hash, append: append))
        return true
    }

    /// Has the place in the index fetched where the id is looked for.
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        Prefetch.element(Int(truncatingIfNeeded: hash) & (index.count - 1), of: index)
    }

    /// The memory that it takes.
    var byteCount: Int {
        ring.count * MemoryLayout<Entry>.stride + index.count * MemoryLayout<UInt32>.stride
    }

    /// The entries in order of arrival.
    func forEach(_ body: (Entry) -> Void) {
        for distance in 0..<count {
            body(ring[Int(oldest &+ UInt32(distance)) & (ring.count - 1)])
        }
    }

    /// Makes room for so many ids, if it may hold them: for restoring into an empty set.
    mutating func reserve(_ entries: Int) {
        var capacity = ring.count
        while capacity < min(entries, capacityMax) { capacity *= 2 }
        if capacity > ring.count { grow(to: capacity) }
    }

    /// Puts back an entry of a snapshot; they come in order of arrival.
    mutating func restore(_ entry: Entry) {
        if count == ring.count { makeRoom() }
        appendEntry(entry)
    }

    private mutating func appendEntry(_ entry: Entry) {
        let ticket = (oldest &+ UInt32(count)) & ticketMask
        ring[Int(ticket)] = entry
        link(ticket, hash: entry.hash)
        count += 1
    }

    private var ticketMask: UInt32 { UInt32(truncatingIfNeeded: ring.count &- 1) }

    /// What lies above a ticket in the index: bits of the hash by which no place is found. The
    /// highest is 0, which it is not in a vacant place.
    @inline(__always)
    private func mark(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: hash &>> 33) & ~ticketMask
    }

    private mutating func link(_ ticket: UInt32, hash: UInt64) {
        var place = Int(truncatingIfNeeded: hash) & (index.count - 1)
        while index[place] != Self.vacant { place = (place + 1) & (index.count - 1) }
        index[place] = mark(hash) | ticket
    }

    private mutating func expire(before limit: Int64) {
        while count > 0, ring[Int(oldest) & (ring.count - 1)].append < limit { dropOldest() }
    }

    private mutating func makeRoom() {
        guard ring.count >= capacityMax else { return grow(to: 2 * ring.count) }
        dropOldest()
        displaced += 1
    }

    private mutating func grow(to capacity: Int) {
        var entries = ContiguousArray<Entry>()
        entries.reserveCapacity(capacity)
        forEach { entries.append($0) }
        let kept = entries.count
        let empty = Entry(hash: 0, append: 0)
        entries.append(contentsOf: repeatElement(empty, count: capacity - kept))
        ring = entries
        oldest = 0
        index = .init(repeating: Self.vacant, count: 2 * ring.count)
        for ticket in 0..<kept { link(UInt32(ticket), hash: ring[ticket].hash) }
    }

    private mutating func dropOldest() {
        let hash = ring[Int(oldest)].hash
        let entry = mark(hash) | oldest
        var hole = Int(truncatingIfNeeded: hash) & (index.count - 1)
        while index[hole] != entry { hole = (hole + 1) & (index.count - 1) }
        closeGap(at: hole)
        oldest = (oldest &+ 1) & ticketMask
        count -= 1
    }

    /// Backward shift deletion: later entries of the same run move up, so no tombstones are left.
    private mutating func closeGap(at gap: Int) {
        let mask = index.count - 1
        var hole = gap
        var next = (gap + 1) & mask
        while index[next] != Self.vacant {
            let home =
                Int(truncatingIfNeeded: ring[Int(index[next] & ticketMask)].hash) & mask
            // It may move only if its home does not lie between the hole and itself.
            if (next - home) & mask >= (next - hole) & mask {
                index[hole] = index[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        index[hole] = Self.vacant
    }
}
