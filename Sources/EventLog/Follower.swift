// Reading several partitions into one batch, fairly: shared by the logs that look records up.

/// Positions in partitions, and whose turn it is.
package struct Follower {
    /// How many partitions share a batch at most: with smaller shares, most of what is looked up
    /// would find no room.
    static let visitsMax = 16

    package private(set) var positions: [TopicPartition: Int64] = [:]
    /// Partitions that fills leave out.
    package var held: Set<TopicPartition> = []
    /// Partitions of equal number beside each other: who reads one needs the others soon.
    private var order: [TopicPartition] = []
    /// The partition that the next fill begins with, so that none waits for ever behind another.
    private var turn = 0

    package init(_ positions: [TopicPartition: Int64] = [:]) {
        for (place, position) in positions { follow(place, from: position) }
    }

    package mutating func follow(_ place: TopicPartition, from position: Int64) {
        if positions.updateValue(position, forKey: place) == nil {
            order.append(place)
            order.sort { ($0.partition, $0.topic.name) < ($1.partition, $1.topic.name) }
        }
    }

    package mutating func leave(_ place: TopicPartition) {
        positions[place] = nil
        held.remove(place)
        order.removeAll { $0 == place }
    }

    /// Fills the batch and returns the partitions that it has read to the end. On a fault the
    /// positions stay where they were, since nobody looks at the batch then.
    ///
    /// `bounds` are those of one moment. `scan` reads a partition from an offset up to an end until
    /// the batch holds so many bytes, and returns the position after it: the end, when it got
    /// there.
    package mutating func fill(
        _ batch: LogBatch, bounds: (TopicPartition) -> Range<Int64>,
        scan: (TopicPartition, Range<Int64>, Int) throws(LogFault) -> Int64
    ) throws(LogFault) -> Set<TopicPartition> {
        var waiting: [(index: Int, end: Int64)] = []
        var ended: Set<TopicPartition> = []
        for step in order.indices {
            let index = (turn + step) % order.count
            let place = order[index]
            if held.contains(place) { continue }
            let bounds = bounds(place)
            let position = positions[place, default: 0]
            try check(place, position: position, bounds: bounds)
            if position == bounds.upperBound {
                ended.insert(place)
            } else {
                waiting.append((index, bounds.upperBound))
            }
        }
        let visited = waiting.prefix(Follower.visitsMax)
        guard let last = visited.last else { return ended }
        var reached = positions
        // First an equal share for each, then whatever room is left for those that have more.
        for share in [batch.bytesMax / visited.count, batch.bytesMax] {
            for (index, end) in visited where !ended.contains(order[index]) {
                let place = order[index]
                let limit = min(batch.bytes + share, batch.bytesMax)
                let position = try scan(place, reached[place, default: 0]..<end, limit)
                reached[place] = position
                if position == end { ended.insert(place) } else if limit == batch.bytesMax { break }
            }
        }
        positions = reached
        turn = (last.index + 1) % order.count
        return ended
    }

    private func check(
        _ place: TopicPartition, position: Int64, bounds: Range<Int64>
    ) throws(LogFault) {
        if position < bounds.lowerBound {
            throw LogFault(
                "read", at: place.description,
                reason: "offset \(position) is no longer there, the first is \(bounds.lowerBound)",
                hint: "retention has passed the reader; restore from a later position",
                remedy: .stop)
        }
        if position > bounds.upperBound {
            throw LogFault(
                "read", at: place.description,
                reason: "offset \(position) is beyond the end, \(bounds.upperBound)",
                hint: "the log has been replaced by an older or another one", remedy: .stop)
        }
    }
}
