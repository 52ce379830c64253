// The one way of events into a log: the right topic, key and partition. The producer and the
// collector both go through it.

import BrakeModel
package import BrakeWire
package import EventLog

/// Appends records of events; any thread may call it. What waits for the log its callers bound.
package struct RecordGate: Sendable {
    private let log: any EventLog

    package init(_ log: any EventLog) {
        self.log = log
    }

    /// Appends records, and others that belong to them, and returns once the log has them all. On a
    /// fault none or some may have been appended.
    package func append(
        _ records: [UploadRecord], with others: [OutgoingRecord] = []
    ) throws(LogFault) {
        try log.append(records.map { outgoing($0) } + others)
    }

    /// The key is the app, and the partition that of every Kafka client.
    private func outgoing(_ record: UploadRecord) -> OutgoingRecord {
        let key = Array(record.app.text.utf8)
        return OutgoingRecord(
            Topic(record.type),
            partition: Partitioner.partition(of: key, partitions: log.partitions), key: key,
            value: record.value)
    }
}
