// What a log on Kafka holds, looked at again and again: each look reads on where the one before has
// ended, since a new reader is a new client of the brokers.
import BrakeModel
import BrakeWire
import EventLog
import KafkaTestSupport
import Runtime

/// A record as it lies in the log.
struct PublishedRecord {
    let offset: Int64
    let append: Int64
    let value: [UInt8]
}

/// The records of some partitions, as far as they have been looked at. One thread uses it.
final class PublishedLog {
    /// One partition, and the epochs or throttle records that have been decoded of it.
    private final class Tail {
        let reader: any LogReader
        /// When the end was last seen.
        var asOf: Int64 = 0
        var records: [PublishedRecord] = []
        var epochs: [EpochRecord] = []
        var throttle: [ThrottleRecord] = []

        init(_ reader: any LogReader) { self.reader = reader }
        deinit { reader.close() }
    }

    private let log: any EventLog
    private let batch = LogBatch()
    private let documents = DocumentReader()
    private var tails: [TopicPartition: Tail] = [:]

    init(_ log: any EventLog) { self.log = log }

    var partitions: Int { log.partitions }

    /// All committed records of a place that were there when this was called.
    func records(_ place: TopicPartition) throws -> [PublishedRecord] {
        try upToDate(place).records
    }

    func epochs(_ partition: Int) throws -> [EpochRecord] {
        let tail = try upToDate(TopicPartition(.epoch, partition))
        for record in tail.records[tail.epochs.count...] {
            tail.epochs.append(
                try unsafe record.value.withUnsafeBytes {
                    unsafe try EpochRecord.decode($0, with: documents)
                })
        }
        return tail.epochs
    }

    func throttle(_ partition: Int) throws -> [ThrottleRecord] {
        let tail = try upToDate(TopicPartition(.throttle, partition))
        for record in tail.records[tail.throttle.count...] {
            tail.throttle.append(
                try unsafe record.value.withUnsafeBytes {
                    unsafe try ThrottleRecord.decode($0, with: documents)
                })
        }
        return tail.throttle
    }

    /// Whether the last epoch of the partition ends behind all records of its inputs. What comes
    /// after them may be markers of transactions, which nobody counts.
    func isCounted(_ partition: Int) throws -> Bool {
        guard let last = try epochs(partition).last else { return false }
        return try EventType.allCases.allSatisfy {
            let records = try records(TopicPartition(Topic($0), partition))
            return (records.last?.offset ?? -1) < last.offsets[$0]
        }
    }

    private func upToDate(_ place: TopicPartition) throws -> Tail {
        let tail =
            try tails[place]
            ?? Tail(log.makeReader(from: [place: log.bounds(of: place).lowerBound]))
        tails[place] = tail
        return try eventually("the end of \(place)") { () -> Tail? in
            let outcome = try tail.reader.poll(into: batch, waitMilliseconds: 0)
            for record in batch.records {
                let value = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                tail.records.append(
                    PublishedRecord(offset: record.offset, append: record.append, value: value))
            }
            // An end that was seen before this was called proves nothing.
            guard outcome.ended.contains(place), outcome.asOf > tail.asOf else { return nil }
            tail.asOf = outcome.asOf
            return tail
        }
    }
}
