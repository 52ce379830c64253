// Records on their way into a log and out of it.

/// A record to be appended.
package struct OutgoingRecord: Sendable {
    /// The most bytes of key and value together, well below what Kafka's brokers take by default.
    package static let bytesMax = 1_000_000

    package var topic: Topic
    package var partition: Int
    package var key: [UInt8]?
    /// Nil in a table deletes the key.
    package var value: [UInt8]?

    package init(_ topic: Topic, partition: Int, key: [UInt8]?, value: [UInt8]?) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
    }

    /// The bytes of key and value together.
    package var bytes: Int { (key?.count ?? 0) + (value?.count ?? 0) }

    /// Where it goes.
    package var place: TopicPartition { TopicPartition(topic, partition) }

    /// Traps on what no log can take: a bug of whoever made the record.
    package func checkFit(partitions: Int) {
        precondition(
            (0..<(topic.isPartitioned ? partitions : 1)).contains(partition),
            "\(topic.name) has no partition \(partition)")
        precondition(topic.kind != .table || key != nil, "a record of a table has a key")
        precondition(bytes <= OutgoingRecord.bytesMax, "a record has at most 1 MB")
    }
}

/// A record read from a log. Its bytes belong to the batch and are valid until that is reset.
@safe
package struct LogRecord {
    package var topic: Topic
    package var partition: Int
    package var offset: Int64
    /// A: when the log took it, ms since 1970.
    package var append: Int64
    package var key: UnsafeRawBufferPointer?
    package var value: UnsafeRawBufferPointer?

    package init(
        topic: Topic, partition: Int, offset: Int64, append: Int64,
        key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.append = append
        unsafe self.key = key
        unsafe self.value = value
    }
}
