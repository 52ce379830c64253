// When to look at which app again: a timer wheel without a fixed size.

/// Slots by the tick at which they are due. There are many slots but few distinct ticks, so a slot
/// is appended to the list of its tick, and only the ticks are kept in order.
struct Calendar: ~Copyable {
    private var lists: [Int64: ContiguousArray<UInt32>] = [:]
    /// A binary heap of the ticks that have a list.
    private var ticks: ContiguousArray<Int64> = []
    /// Emptied lists, to be used again.
    private var spare: ContiguousArray<ContiguousArray<UInt32>> = []
    private static let spareMax = 64

    /// The earliest tick with a slot, `Int64.max` when there is none.
    var first: Int64 { ticks.first ?? .max }

    /// Adds a slot to a tick. O(1), O(log ticks) for a tick's first.
    mutating func insert(_ slot: UInt32, at tick: Int64) {
        if lists[tick] == nil {
            lists[tick] = spare.popLast() ?? []
            push(tick)
        }
        lists[tick]?.append(slot)
    }

    /// Takes the earliest tick's slots out; give the list back with `recycle`.
    mutating func takeFirst() -> ContiguousArray<UInt32> {
        guard let tick = ticks.first else { return [] }
        pop()
        return lists.removeValue(forKey: tick) ?? []
    }

    /// Takes an emptied list back.
    mutating func recycle(_ list: consuming ContiguousArray<UInt32>) {
        guard spare.count < Self.spareMax else { return }
        list.removeAll(keepingCapacity: true)
        spare.append(list)
    }

    private mutating func push(_ tick: Int64) {
        ticks.append(tick)
        var child = ticks.count - 1
        while child > 0, ticks[child] < ticks[(child - 1) / 2] {
            ticks.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() {
        ticks.swapAt(0, ticks.count - 1)
        ticks.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < ticks.count && ticks[child] < ticks[least] { least = child }
            if least == parent { return }
            ticks.swapAt(parent, least)
            parent = least
        }
    }
}
