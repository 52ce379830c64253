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
    static let countedEvents = 1_024

    /// Records at the front of the queue, which are counted together.
    struct Portion {
        /// Of the queue's batch.
        let events: Range<Int>
        let records: Int
        /// The append time of the last of them.
        let lastAppend: Int64
    }

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

    /// The records that come next: those not after `limit`, before `rival`, and before an offset;
    /// so many that their events are worth counting together, nil when there is none.
    func portion(upTo limit: Int64, before rival: Int64, end: Int64 = .max) -> Portion? {
        let enough = firstEvent + Self.countedEvents
        var events = firstEvent
        var next = firstMark
        while next < marks.count, events < enough {
            let mark = marks[next]
            guard mark.append <= limit, mark.append < rival, mark.nextOffset <= end else { break }
            events = mark.events
            next += 1
        }
        guard next > firstMark else { return nil }
        return Portion(
            events: firstEvent..<events, records: next - firstMark,
            lastAppend: marks[next - 1].append)
    }

    /// Drops the records that come next: they have been counted, or are elsewhere.
    mutating func drop(_ portion: Portion) {
        firstEvent = portion.events.upperBound
        firstMark += portion.records
        position = marks[firstMark - 1].nextOffset
        if isEmpty {
            clear()
        } else if firstEvent >= max(Self.countedEvents, min(4 * eventsWaiting, Self.eventsMax)) {
            compact()
        }
    }

    /// Drops what has been counted, when that is several times what waits; keeps the memory.
    private mutating func compact() {
        batch.removeFirst(firstEvent)
        marks.removeFirst(firstMark)
        for place in marks.indices { marks[place].events -= firstEvent }
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
    /// Drops the first events of a decoded batch, with their apps' ids.
    fileprivate mutating func removeFirst(_ count: Int) {
        // Records that wait may have no event.
        let shift = count < events.count ? events[count].nameOffset : UInt32(names.count)
        events.removeFirst(count)
        names.removeFirst(Int(shift))
        for place in events.indices { events[place].nameOffset -= shift }
    }

    /// Appends events of a decoded batch, with their apps' ids: these lie in the order of events.
    mutating func append(_ places: Range<Int>, of source: EventBatch) {
        guard !places.isEmpty else { return }
        let first = Int(source.events[places.lowerBound].nameOffset)
        let last = source.events[places.upperBound - 1]
        let shift = UInt32(truncatingIfNeeded: names.count - first)
        names.append(
            contentsOf: source.names[first..<Int(last.nameOffset) + Int(last.nameLength)])
        let begin = events.count
        events.append(contentsOf: source.events[places])
        for place in begin..<events.count { events[place].nameOffset &+= shift }
    }
}
