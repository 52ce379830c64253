// What can happen to records that were in a log: they are deleted early, changed, or lost.

import Runtime

extension MemoryLog {
    /// Deletes what is before an offset, as retention does.
    package func deleteRecords(of place: TopicPartition, before offset: Int64) {
        shared.withLock { $0.deleteRecords(of: place, before: offset) }
    }

    /// Changes the record at an offset; a body that returns nil takes it out, leaving a gap.
    package func damage(
        _ place: TopicPartition, at offset: Int64, _ body: ([UInt8]) -> [UInt8]?
    ) {
        shared.withLock { $0.damage(place, at: offset, body) }
    }

    /// Sets the committed position of an input to another, nil: to none.
    package func setCommitted(_ place: TopicPartition, to position: Int64?) {
        shared.withLock { $0.committed[place] = position }
    }
}
