// A transaction of somebody else, in the middle of ours.
import CRdKafka
package import EventLog
package import KafkaLog

/// Begins a transaction, writes, and leaves it open.
package final class ForeignTransaction: Sendable {
    private let client: RawClient

    package init(
        _ settings: KafkaSettings, id: String = "foreign", writing records: [OutgoingRecord],
        positions: [TopicPartition: Int64] = [:], timeoutMilliseconds: Int = 60_000
    ) throws {
        client = try RawClient([
            "bootstrap.servers": settings.bootstrap, "transactional.id": settings.prefix + id,
            "transaction.timeout.ms": "\(timeoutMilliseconds)", "linger.ms": "0",
            "retry.backoff.ms": "1",
        ])
        try unsafe RawClient.check(
            "start", rd_kafka_init_transactions(client.pointer, 30_000))
        try unsafe RawClient.check("begin", rd_kafka_begin_transaction(client.pointer))
        try client.produce(records, prefix: settings.prefix)
        try client.flush()
        guard !positions.isEmpty else { return }
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(positions.count))
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for (place, position) in positions {
            let element = unsafe rd_kafka_topic_partition_list_add(
                list, settings.prefix + place.topic.name, Int32(place.partition))
            unsafe element?.pointee.offset = position
        }
        // Of nobody in the group: brokers take that, too.
        let group = unsafe rd_kafka_consumer_group_metadata_new(settings.prefix + "evaluate")
        defer { unsafe rd_kafka_consumer_group_metadata_destroy(group) }
        try unsafe RawClient.check(
            "positions",
            rd_kafka_send_offsets_to_transaction(client.pointer, list, group, 30_000))
    }

    package func commit() throws {
        try unsafe RawClient.check(
            "commit", rd_kafka_commit_transaction(client.pointer, 30_000))
    }

    package func abort() throws {
        try unsafe RawClient.check("abort", rd_kafka_abort_transaction(client.pointer, 30_000))
    }
}
