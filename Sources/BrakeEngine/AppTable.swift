// Apps by id: each is interned once to a dense slot.

import BrakeModel

/// Interns app ids. Slots are never given back: a known app keeps its revision for ever.
struct AppTable: ~Copyable {
    /// No slot: stands for a guess that there is none of.
    static let noGuess = UInt32.max

    /// The most apps it takes.
    let appsMax: Int
    var slots = Slab<AppSlot>()
    /// The ids, one after the other.
    private var names: ContiguousArray<UInt8> = []
    /// Open addressing with linear probing, at most half full: the hash's upper half, then the
    /// slot plus one; 0 is vacant.
    private var index: ContiguousArray<UInt64>

    init(appsMax: Int) {
        precondition(appsMax > 0 && appsMax < 1 << 30)
        self.appsMax = appsMax
        index = .init(repeating: 0, count: 1 << 8)
    }

    var count: Int { Int(slots.end) }

    /// The memory of slots, ids and the index over them.
    var byteCount: Int {
        slots.byteCount + names.capacity + index.capacity * MemoryLayout<UInt64>.stride
    }

    /// The slot of an app, nil for one that is not known. O(1).
    @inline(__always)
    func find(_ event: Event, in batch: EventBatch) -> UInt32? {
        let mask = index.count &- 1
        var place = Int(truncatingIfNeeded: event.appHash) & mask
        while index[place] != 0 {
            let entry = index[place]
            let slot = UInt32(truncatingIfNeeded: entry) &- 1
            if entry &>> 32 == event.appHash &>> 32, isApp(slot, event, in: batch) { return slot }
            place = (place &+ 1) & mask
        }
        return nil
    }

    /// The slot of an app that has been guessed. O(1).
    @inline(__always)
    func find(_ event: Event, in batch: EventBatch, guess: UInt32) -> UInt32? {
        if guess != Self.noGuess, isApp(guess, event, in: batch) { return guess }
        return find(event, in: batch)
    }

    /// The slot that the app most likely has, for looking ahead: its id has not been compared.
    @inline(__always)
    func guess(_ hash: UInt64) -> UInt32 {
        let entry = index[Int(truncatingIfNeeded: hash) & (index.count &- 1)]
        // Of a vacant entry, which is 0, this is `noGuess`, too.
        return entry &>> 32 == hash &>> 32 ? UInt32(truncatingIfNeeded: entry) &- 1 : Self.noGuess
    }

    /// Has the place fetched in which the app is looked for.
    @inline(__always)
    func prefetch(_ hash: UInt64) {
        Prefetch.element(Int(truncatingIfNeeded: hash) & (index.count &- 1), of: index)
    }

    /// Has the beginning of a slot's app id fetched.
    @inline(__always)
    func prefetchName(of slot: UInt32) {
        Prefetch.element(Int(slots[slot].nameOffset), of: names)
    }

    /// The slot of an app.
    func find(hash: UInt64, name: [UInt8]) -> UInt32? {
        var event = Event(appHash: hash, meaning: .nothing, append: 0)
        var batch = EventBatch()
        event.nameOffset = batch.addName(name)
        event.nameLength = UInt8(name.count)
        return find(event, in: batch)
    }

    /// Makes a slot for a new app, nil when there are as many as there may be.
    mutating func insert(_ event: Event, in batch: EventBatch) -> UInt32? {
        let first = Int(event.nameOffset)
        return insert(hash: event.appHash, name: batch.names[first..<first + Int(event.nameLength)])
    }

    mutating func insert(hash: UInt64, name: some Collection<UInt8>) -> UInt32? {
        guard count < appsMax else { return nil }
        if 2 * (count + 1) > index.count { grow() }
        let slot = slots.allocate()
        slots[slot].appHash = hash
        slots[slot].nameOffset = UInt32(names.count)
        slots[slot].nameLength = UInt8(name.count)
        names.append(contentsOf: name)
        link(slot, hash: hash)
        return slot
    }

    /// The bytes of a slot's app id.
    func nameBytes(of slot: UInt32) -> ArraySlice<UInt8> {
        let first = Int(slots[slot].nameOffset)
        return ArraySlice(names[first..<first + Int(slots[slot].nameLength)])
    }

    /// The id of a slot's app.
    func name(of slot: UInt32) -> AppID {
        guard let app = AppID(String(decoding: nameBytes(of: slot), as: UTF8.self)) else {
            preconditionFailure("only valid ids are decoded into events")
        }
        return app
    }

    @inline(__always)
    private func isApp(_ slot: UInt32, _ event: Event, in batch: EventBatch) -> Bool {
        // Field by field: a slot as a value would be copied whole.
        guard slots[slot].appHash == event.appHash, slots[slot].nameLength == event.nameLength
        else { return false }
        let size = Int(event.nameLength)
        let (mine, theirs) = (Int(slots[slot].nameOffset), Int(event.nameOffset))
        return unsafe names.withUnsafeBytes { names in
            unsafe batch.names.withUnsafeBytes { others in
                unsafe UnsafeRawBufferPointer(rebasing: names[mine..<mine &+ size])
                    .isEqual(to: UnsafeRawBufferPointer(rebasing: others[theirs..<theirs &+ size]))
            }
        }
    }

    private mutating func link(_ slot: UInt32, hash: UInt64) {
        let mask = index.count - 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while index[place] != 0 { place = (place + 1) & mask }
        index[place] = (hash >> 32) << 32 | UInt64(slot + 1)
    }

    private mutating func grow() {
        index = .init(repeating: 0, count: 2 * index.count)
        for slot in 0..<slots.end { link(slot, hash: slots[slot].appHash) }
    }
}
