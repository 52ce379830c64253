// Where a client of the stream stands: the id of events. It means the same on every replica, since
// it is made of offsets of the log.

/// The offset after the last throttle record seen, by partition.
struct StreamPosition: Sendable, Equatable {
    /// Longer ids are none of ours.
    static let textBytesMax = 8_192

    private(set) var offsets: [Int64]

    init(offsets: [Int64]) { self.offsets = offsets }

    /// The position that `text` stands for; nil when it is none.
    init?(_ text: String) {
        guard text.utf8.count <= Self.textBytesMax else { return nil }
        var offsets: [Int64] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let offset = Int64(part, radix: 36), offset >= 0 else { return nil }
            offsets.append(offset)
        }
        self.offsets = offsets
    }

    var text: String {
        offsets.map { String($0, radix: 36) }.joined(separator: ".")
    }

    mutating func pass(_ change: AppliedChange) {
        offsets[change.partition] = max(offsets[change.partition], change.offset + 1)
    }

    /// Moves over gaps, too; never back.
    mutating func pass(_ position: StreamPosition) {
        offsets = zip(offsets, position.offsets).map { max($0, $1) }
    }

    func isBefore(_ change: AppliedChange) -> Bool { offsets[change.partition] <= change.offset }

    /// The beginning of every partition.
    static func zero(_ partitions: Int) -> StreamPosition {
        StreamPosition(offsets: Array(repeating: 0, count: partitions))
    }

    /// Whether it is somewhere from one position to another, in every partition.
    func isWithin(_ low: StreamPosition, _ high: StreamPosition) -> Bool {
        offsets.count == low.offsets.count
            && offsets.indices.allSatisfy {
                low.offsets[$0] <= offsets[$0] && offsets[$0] <= high.offsets[$0]
            }
    }
}

/// The last changes in the order in which they were applied, for clients that come back.
struct ChangeRing: Sendable {
    static let changesMax = 4_096

    private var changes: [AppliedChange] = []
    /// The next place to be written once it is full.
    private var next = 0
    /// From here on every change is in the ring.
    private var low: StreamPosition
    private(set) var high: StreamPosition

    init(at position: StreamPosition) {
        low = position
        high = position
    }

    mutating func add(_ change: AppliedChange) {
        high.pass(change)
        guard changes.count == Self.changesMax else { return changes.append(change) }
        low.pass(changes[next])
        changes[next] = change
        next = (next + 1) % Self.changesMax
    }

    mutating func pass(_ position: StreamPosition) { high.pass(position) }

    /// All changes after the position in their order, nil when some of them are forgotten.
    func changes(after position: StreamPosition) -> [AppliedChange]? {
        guard position.isWithin(low, high) else { return nil }
        return (changes[next...] + changes[..<next]).filter { position.isBefore($0) }
    }
}
