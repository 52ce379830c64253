// What transactions that failed may have left open.

import EventLog
import Synchronization

/// The partitions that failed attempts may have written to, since the last one that succeeded.
///
/// When a transaction ends, Kafka's coordinator takes a partition that has no leader at the moment
/// for one that was deleted, and writes no marker there (seen with 4.4, in
/// `KRaftMetadataCache.getPartitionLeaderEndpoint`). What an aborted transaction has written there
/// stays open, and the next commit of the same producer would commit it, too: its records would be
/// there twice. An aborted transaction that writes there again, while there is a leader, closes it.
///
/// They outlive the worker: whoever joins the group again would else wait for himself, since no
/// restore reads beyond what is open.
struct Leftovers: Sendable {
    /// An attempt whose outcome was not known when its partitions were given up.
    struct Doubt: Sendable {
        var outputs: [OutgoingRecord]
        /// Where its positions would have been committed, with this note.
        var positions: [TopicPartition]
        var note: CommitNote
    }

    private var suspects: [TopicPartition: OutgoingRecord] = [:]
    private var committed: [TopicPartition: Int64] = [:]
    private var doubts: [Doubt] = []

    var isEmpty: Bool { suspects.isEmpty && doubts.isEmpty }

    /// Whose committed notes tell the outcome of what is in doubt.
    var doubtful: [TopicPartition] { Set(doubts.flatMap(\.positions)).sorted() }

    var places: [TopicPartition] { suspects.keys.sorted() }

    /// An attempt with these outputs has failed.
    mutating func add(_ outputs: [OutgoingRecord]) {
        for record in outputs {
            suspects[TopicPartition(record.topic, record.partition)] = record
        }
    }

    mutating func add(_ doubt: Doubt) { doubts.append(doubt) }

    /// Settles what is in doubt by the notes committed with positions. Once another worker has
    /// committed there, nobody can tell any more, and nothing is touched.
    mutating func settle(by notes: [TopicPartition: CommitNote]) {
        for doubt in doubts {
            let found = doubt.positions.compactMap { notes[$0] }
            let isKnown = found.allSatisfy { $0.generation <= doubt.note.generation }
            if isKnown, !found.contains(doubt.note) { add(doubt.outputs) }
        }
        doubts = []
    }

    /// An attempt has been committed, which ends there.
    mutating func add(committed ends: [TopicPartition: Int64]) {
        committed.merge(ends) { max($0, $1) }
        suspects = [:]
    }

    /// Nothing is open any more.
    mutating func clear() { suspects = [:] }

    /// One record for each partition that is open; to be written again and aborted.
    ///
    /// A commit may have lost its marker in the same way: what is open from before the end of that
    /// one must not be aborted. The next commit closes it.
    /// - Parameters:
    ///   - stable: Where committed readers come to an end.
    ///   - ends: Where the partitions end.
    func open(
        stable: [TopicPartition: Int64], ends: [TopicPartition: Int64]
    ) -> [OutgoingRecord] {
        places.compactMap { place in
            guard let stable = stable[place], let end = ends[place], stable < end,
                stable >= committed[place, default: 0]
            else { return nil }
            return suspects[place]
        }
    }
}

/// What the workers of a process have left open, for the next one of each lane.
final class LeftoverStore: Sendable {
    private let lanes = Mutex<[Int: Leftovers]>([:])

    func take(lane: Int) -> Leftovers {
        lanes.withLock { $0.removeValue(forKey: lane) ?? Leftovers() }
    }

    func keep(_ leftovers: Leftovers, lane: Int) {
        lanes.withLock { $0[lane] = leftovers }
    }
}
