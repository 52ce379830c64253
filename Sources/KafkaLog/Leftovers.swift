// What transactions that failed may have left open.

import EventLog

/// The partitions that failed attempts may have written to, since the last one that succeeded.
///
/// When a transaction ends, Kafka's coordinator takes a partition that has no leader at the moment
/// for one that was deleted, and writes no marker there (seen with 4.4, in
/// `KRaftMetadataCache.getPartitionLeaderEndpoint`). What an aborted transaction has written there
/// stays open, and the next commit of the same producer would commit it, too: its records would be
/// there twice. An aborted transaction that writes there again, while there is a leader, closes it.
struct Leftovers {
    private var suspects: [TopicPartition: OutgoingRecord] = [:]
    private var committed: [TopicPartition: Int64] = [:]

    var isEmpty: Bool { suspects.isEmpty }

    var places: [TopicPartition] { suspects.keys.sorted() }

    /// An attempt with these outputs has failed.
    mutating func add(_ outputs: [OutgoingRecord]) {
        for record in outputs {
            suspects[TopicPartition(record.topic, record.partition)] = record
        }
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
