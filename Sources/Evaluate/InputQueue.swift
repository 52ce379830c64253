// One input of a partition group: events read and decoded, but not yet counted.

import BrakeModel
import BrakeWire
import EventLog

/// Decoded events of one input in order of offset, with the offsets at which records end, so that
/// what is committed is exactly what was counted.
struct InputQueue {
    /// Beyond so many waiting events the input is not read until the others have caught up.
    static let eventsMax = 1 << 16

    /// So many events are counted together: looking ahead pays only with some to look at.
    static let moveEvents = 4_096

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

    /// Decodes records. What cannot be used goes to `reject`, with its record.
    mutating func take(
        _ records: ArraySlice<LogRecord>, as type: EventType, with decoder: EventDecoder,
        reject: (LogRecord, [RejectedEvent]) -> Void
    ) {
        var rejected: [RejectedEvent] = []
        for record in records {
            unsafe decoder.decode(
                record.value, append: record.append, from: .topic(type, key: record.key),
                into: &batch, rejected: &rejected)
            marks.append(
                Mark(
                    events: batch.events.count, nextOffset: record.offset + 1,
                    append: record.append))
            readPosition = record.offset + 1
            lastAppend = max(lastAppend, record.append)
            if !rejected.isEmpty {
                reject(record, rejected)
                rejected.removeAll(keepingCapacity: true)
            }
        }
    }

    /// Moves records to the end of another batch: those not after `limit`, before `rival`, and
    /// before an offset; so many that the batch is worth counting, at least one if there is one.
    mutating func move(
        to target: inout EventBatch, upTo limit: Int64, before rival: Int64,
        end: Int64 = .max
    ) -> (records: Int, lastAppend: Int64) {
        var records = 0
        var last = Int64.min
        while firstMark < marks.count, target.events.count < Self.moveEvents {
            let mark = marks[firstMark]
            guard mark.append <= limit, mark.append < rival, mark.nextOffset <= end else { break }
            for place in firstEvent..<mark.events { target.move(batch.events[place], from: batch) }
            firstEvent = mark.events
            firstMark += 1
            position = mark.nextOffset
            last = mark.append
            records += 1
        }
        if isEmpty { clear() } else if firstEvent >= Self.eventsMax { compact() }
        return (records, last)
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
        // Events of one record share the id; so do neighbours of one app.
        if let last = events.last, last.appHash == event.appHash,
            last.nameLength == event.nameLength, isName(last, equalTo: event, in: source)
        {
            event.nameOffset = last.nameOffset
        } else {
            event.nameOffset = addName(source.names[first..<first + Int(event.nameLength)])
        }
        events.append(event)
    }

    private func isName(_ mine: Event, equalTo other: Event, in source: EventBatch) -> Bool {
        for distance in 0..<Int(mine.nameLength)
        where names[Int(mine.nameOffset) + distance]
            != source.names[Int(other.nameOffset) + distance]
        { return false }
        return true
    }
}
