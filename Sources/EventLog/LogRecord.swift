// Records on their way into a log and out of it.

/// A record to be appended.
package struct OutgoingRecord: Sendable {
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
