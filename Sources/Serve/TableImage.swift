// The throttle table as the HTTP threads see it: an immutable image, in shards by partition, so
// that a change copies one shard and readers wait for nobody.

package import BrakeModel

/// What the table holds of one app.
final class AppEntry: Sendable {
    let change: ThrottleChange
    let epoch: Int64

    init(_ change: ThrottleChange, epoch: Int64) {
        self.change = change
        self.epoch = epoch
    }

    /// Whether this one must not replace the other.
    func isOlder(than other: AppEntry) -> Bool {
        (change.revision, epoch) < (other.change.revision, other.epoch)
    }
}

/// The last epoch that was applied.
struct EpochMark: Sendable, Equatable {
    var number: Int64
    var generation: Int64
    /// When the log took it, ms since 1970.
    var append: Int64

    /// Whether this one must not replace the other. The evaluator may begin its count anew, but
    /// then in a later generation; a zombie writes in an earlier one.
    func isOlder(than other: EpochMark) -> Bool {
        number < other.number && generation <= other.generation
    }
}

/// The apps of one partition, in the order of their ids.
struct TableShard: Sendable {
    private(set) var entries: [AppEntry] = []
    /// Apps by severity.
    private(set) var counts = [Int](repeating: 0, count: ThrottleState.allCases.count)
    /// Of apps that annoy.
    var stress: [AppID: StressIndex] = [:]
    var epoch: EpochMark?
    /// When the log took the newest throttle record, for partitions whose epochs are gone.
    var newestAppend: Int64?

    /// When the evaluator was last heard of, nil when never.
    var heardAt: Int64? { epoch?.append ?? newestAppend }

    /// The stress of an app, nil when there is none, or nobody looks after its record any more. It
    /// does not age while the evaluator is not heard of: what was tightened stays so.
    func stress(of app: AppID) -> StressIndex? {
        guard let index = stress[app] else { return nil }
        let isValid = (heardAt ?? 0) - index.clock <= StressIndex.validMilliseconds
        return isValid ? index : nil
    }

    /// O(log apps).
    func entry(of app: AppID) -> AppEntry? {
        let index = index(from: app)
        return index < entries.count && entries[index].change.app == app ? entries[index] : nil
    }

    /// The place of the first app that is not before this one. O(log apps).
    func index(from app: AppID) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].change.app < app { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Puts entries in place, and takes out the apps whose entry is nil. O(apps).
    mutating func merge(_ changes: [AppID: AppEntry?]) {
        guard !changes.isEmpty else { return }
        var merged: [AppEntry] = []
        merged.reserveCapacity(entries.count + changes.count)
        var rest = entries[...]
        for (app, entry) in changes.sorted(by: { $0.key < $1.key }) {
            let end = index(from: app)
            merged.append(contentsOf: rest[rest.startIndex..<end])
            rest = rest[end...]
            if let old = rest.first, old.change.app == app {
                rest.removeFirst()
                counts[old.change.state.severity] -= 1
            }
            guard let entry else { continue }
            merged.append(entry)
            counts[entry.change.state.severity] += 1
        }
        merged.append(contentsOf: rest)
        entries = merged
    }
}

/// The table at one moment.
package final class TableImage: Sendable {
    /// Where the states come from.
    enum Source: Sendable, Equatable {
        /// Nothing is known yet.
        case nothing
        /// From a file that a person has given.
        case bootstrap
        case backup
        case log
    }

    let shards: [TableShard]
    /// The base caps that people have set.
    let caps: CapTable
    let source: Source
    /// Where throttle had been read up to.
    let position: StreamPosition
    /// When this edge began to follow, for partitions of which nothing was heard.
    let startedAt: Int64

    init(
        shards: [TableShard], caps: CapTable, source: Source, position: StreamPosition,
        startedAt: Int64
    ) {
        precondition(!shards.isEmpty, "a table has at least one partition")
        self.shards = shards
        self.caps = caps
        self.source = source
        self.position = position
        self.startedAt = startedAt
    }

    /// Whether the states may be served.
    package var isReady: Bool { source != .nothing }

    /// The last record of an app's stress, nil when there is none.
    package func stress(of app: AppID) -> StressIndex? { shard(of: app).stress[app] }

    func shard(of app: AppID) -> TableShard {
        shards[Partitioner.partition(of: app.text.utf8, partitions: shards.count)]
    }

    /// How long ago the evaluator was last heard of, as far as these states go.
    func age(of shard: TableShard, now: Int64) -> Int64 {
        max(0, now - (shard.heardAt ?? startedAt))
    }

    /// When any partition was heard of last; nil: never. O(partitions).
    var heardAt: Int64? { shards.compactMap(\.heardAt).max() }

    /// The age of the partition that has waited longest. O(partitions).
    func oldestAge(now: Int64) -> Int64 {
        shards.reduce(0) { max($0, age(of: $1, now: now)) }
    }
}
