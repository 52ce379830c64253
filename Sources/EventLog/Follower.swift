// Reading several partitions into one batch, fairly: shared by the logs that look records up.

/// Positions in partitions, and whose turn it is.
package struct Follower {
    package private(set) var positions: [TopicPartition: Int64] = [:]
    /// Partitions that fills leave out.
    package var held: Set<TopicPartition> = []
    private var order: [TopicPartition] = []
    /// The partition that the next fill begins with, so that none waits for ever behind another.
    private var turn = 0

    package init(_ positions: [TopicPartition: Int64] = [:]) {
        for (place, position) in positions { follow(place, from: position) }
    }

    package mutating func follow(_ place: TopicPartition, from position: Int64) {
        if positions.updateValue(position, forKey: place) == nil {
            order.append(place)
            order.sort()
        }
    }

    package mutating func leave(_ place: TopicPartition) {
        positions[place] = nil
        held.remove(place)
        order.removeAll { $0 == place }
    }

    /// Fills the batch and returns the partitions that it has read to the end.
    ///
    /// `bounds` are those of one moment. `scan` reads a partition from an offset up to an end until
    /// the batch holds so many bytes, and returns the position after it: the end, when it got there.
    package mutating func fill(
        _ batch: LogBatch, bounds: (TopicPartition) -> Range<Int64>,
        scan: (TopicPartition, Range<Int64>, Int) throws(LogFault) -> Int64
    ) throws(LogFault) -> Set<TopicPartition> {
        var waiting: [(place: TopicPartition, end: Int64)] = []
        var ended: Set<TopicPartition> = []
        for index in order.indices {
            let place = order[(turn + index) % order.count]
            if held.contains(place) { continue }
            let bounds = bounds(place)
            let position = positions[place, default: 0]
            try check(place, position: position, bounds: bounds)
            if position == bounds.upperBound {
                ended.insert(place)
            } else {
                waiting.append((place, bounds.upperBound))
            }
        }
        guard !waiting.isEmpty else { return ended }
        turn = (turn + 1) % order.count
        // First an equal share for each, then whatever room is left for those that have more.
        for share in [batch.bytesMax / waiting.count, batch.bytesMax] {
            for (place, end) in waiting where !ended.contains(place) {
                let position = positions[place, default: 0]
                let limit = min(batch.bytes + share, batch.bytesMax)
                let reached = try scan(place, position..<end, limit)
                positions[place] = reached
                if reached == end { ended.insert(place) }
            }
        }
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
