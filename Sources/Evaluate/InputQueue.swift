// One input of a partition group: events read and decoded, but not yet counted.

import BrakeModel

/// Decoded events of one input in order of offset, with the offsets at which records end, so that
/// what is committed is exactly what was counted.
struct InputQueue {
    /// Beyond so many waiting events the input is not read until the others have caught up.
    static let eventsMax = 1 << 16

    /// A record's end: how many events of the queue precede it, and the offset after it.
    private struct Mark {
        var events: Int
        var nextOffset: Int64
        var append: Int64
    }

    private(set) var batch = EventBatch()
    private var marks: ContiguousArray<Mark> = []
    private var firstEvent = 0
    private var firstMark = 0
    /// The offset after the last record counted.
    private(set) var position: Int64
    /// The offset after the last record read.
    private(set) var readPosition: Int64
    /// The append time of the last record read.
    private(set) var lastAppend = Int64.min

    init(position: Int64) {
        self.position = position
        readPosition = position
    }

    var isEmpty: Bool { firstMark == marks.count }
    var isFull: Bool { eventsWaiting >= Self.eventsMax }
    var eventsWaiting: Int { batch.events.count - firstEvent }

    /// The append time of the next record, nil when none waits.
    var nextAppend: Int64? { isEmpty ? nil : marks[firstMark].append }

    /// The offset after the next record; only when one waits.
    var nextEnd: Int64 { marks[firstMark].nextOffset }

    /// Notes a record whose events `decode` has just added to `batch`.
    mutating func add(
        offset: Int64, append: Int64, decode: (inout EventBatch) -> Void
    ) {
        decode(&batch)
        marks.append(Mark(events: batch.events.count, nextOffset: offset + 1, append: append))
        readPosition = offset + 1
        lastAppend = max(lastAppend, append)
    }

    /// Moves the next record's events to the end of another batch.
    mutating func moveFirst(to target: inout EventBatch) {
        let mark = marks[firstMark]
        for place in firstEvent..<mark.events { target.move(batch.events[place], from: batch) }
        firstEvent = mark.events
        firstMark += 1
        position = mark.nextOffset
        if isEmpty { clear() } else if firstEvent >= Self.eventsMax { compact() }
    }

    /// Drops what has been counted, when that has become as much as may wait.
    private mutating func compact() {
        var rest = EventBatch()
        for place in firstEvent..<batch.events.count { rest.move(batch.events[place], from: batch) }
        marks.removeFirst(firstMark)
        for place in marks.indices { marks[place].events -= firstEvent }
        batch = rest
        firstEvent = 0
        firstMark = 0
    }

    private mutating func clear() {
        batch.removeAll()
        marks.removeAll(keepingCapacity: true)
        firstEvent = 0
        firstMark = 0
    }
}

extension EventBatch {
    /// Appends an event of another batch, with its app's id.
    fileprivate mutating func move(_ event: Event, from source: EventBatch) {
        var event = event
        let first = Int(event.nameOffset)
        let name = source.names[first..<first + Int(event.nameLength)]
        // Events of one record share the id; so do neighbours of one app.
        if let last = events.last, last.appHash == event.appHash,
            last.nameLength == event.nameLength,
            names[Int(last.nameOffset)..<Int(last.nameOffset) + name.count] == name
        {
            event.nameOffset = last.nameOffset
        } else {
            event.nameOffset = addName(name)
        }
        events.append(event)
    }
}
