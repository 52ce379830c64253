// What an administrator does to topics, by librdkafka's requests: a tool of Kafka's own would take
// seconds for each.
import CRdKafka
package import EventLog
package import KafkaLog

/// Alters topics of a log.
package struct KafkaAdministrator {
    private static let patienceMilliseconds: Int32 = 20_000

    private let settings: KafkaSettings

    package init(_ settings: KafkaSettings) { self.settings = settings }

    /// Writes records as they are, uncompressed, as many other producers do.
    package func write(_ records: [OutgoingRecord]) throws {
        let client = try RawClient([
            "bootstrap.servers": settings.bootstrap, "compression.codec": "none",
            "linger.ms": "0",
        ])
        defer { client.close() }
        try client.produce(records, prefix: settings.prefix)
        try client.flush()
    }

    /// Deletes what lies before an offset; nil is the end.
    package func deleteRecords(_ place: TopicPartition, before offset: Int64?) throws {
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        let element = unsafe rd_kafka_topic_partition_list_add(
            list, settings.prefix + place.topic.name, Int32(place.partition))
        unsafe element?.pointee.offset = offset ?? Int64(RD_KAFKA_OFFSET_END)
        var request = unsafe rd_kafka_DeleteRecords_new(list)
        defer { unsafe rd_kafka_DeleteRecords_destroy(request) }
        try unsafe ask("delete records") { client, queue in
            unsafe rd_kafka_DeleteRecords(client, &request, 1, nil, queue)
        }
    }

    /// Sets settings of a topic that is otherwise as it has to be.
    package func alter(_ topic: Topic, partitions: Int, _ changes: [String: String]) throws {
        let topics = KafkaTopics(settings, partitions: partitions, replicas: 1)
        var resource = unsafe rd_kafka_ConfigResource_new(
            RD_KAFKA_RESOURCE_TOPIC, settings.prefix + topic.name)
        defer { unsafe rd_kafka_ConfigResource_destroy(resource) }
        for (name, value) in topics.expected(topic).settings.merging(
            changes,
            uniquingKeysWith: {
                $1
            })
        {
            unsafe rd_kafka_ConfigResource_set_config(resource, name, value)
        }
        try unsafe ask("alter settings") { client, queue in
            unsafe rd_kafka_AlterConfigs(client, &resource, 1, nil, queue)
        }
    }

    package func grow(_ topic: Topic, to partitions: Int) throws {
        var message = [CChar](repeating: 0, count: 512)
        var request = unsafe rd_kafka_NewPartitions_new(
            settings.prefix + topic.name, partitions, &message, message.count)
        defer { unsafe rd_kafka_NewPartitions_destroy(request) }
        try unsafe ask("add partitions") { client, queue in
            unsafe rd_kafka_CreatePartitions(client, &request, 1, nil, queue)
        }
    }

    @unsafe
    private func ask(
        _ what: String, _ send: (_ client: OpaquePointer, _ queue: OpaquePointer?) -> Void
    ) throws {
        let client = try RawClient(["bootstrap.servers": settings.bootstrap])
        defer { client.close() }
        let queue = unsafe rd_kafka_queue_new(client.pointer)
        defer { unsafe rd_kafka_queue_destroy(queue) }
        unsafe send(client.pointer, queue)
        let event = unsafe rd_kafka_queue_poll(queue, KafkaAdministrator.patienceMilliseconds)
        guard let event = unsafe event else { throw TimedOut(what: what) }
        defer { unsafe rd_kafka_event_destroy(event) }
        try RawClient.check(what, unsafe rd_kafka_event_error(event))
        try unsafe check(what, event)
    }

    /// Each answer carries the errors of its own resources.
    @unsafe
    private func check(_ what: String, _ event: OpaquePointer) throws {
        var count = 0
        if let result = unsafe rd_kafka_event_DeleteRecords_result(event) {
            guard let list = unsafe rd_kafka_DeleteRecords_result_offsets(result) else { return }
            for index in 0..<Int(unsafe list.pointee.cnt) {
                try RawClient.check(what, unsafe list.pointee.elems[index].err)
            }
        } else if let result = unsafe rd_kafka_event_AlterConfigs_result(event) {
            let resources = unsafe rd_kafka_AlterConfigs_result_resources(result, &count)
            for index in 0..<count {
                try RawClient.check(
                    what, unsafe rd_kafka_ConfigResource_error(resources?[index]))
            }
        } else if let result = unsafe rd_kafka_event_CreatePartitions_result(event) {
            let topics = unsafe rd_kafka_CreatePartitions_result_topics(result, &count)
            for index in 0..<count {
                try RawClient.check(what, unsafe rd_kafka_topic_result_error(topics?[index]))
            }
        }
    }
}
