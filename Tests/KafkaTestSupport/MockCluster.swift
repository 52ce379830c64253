// librdkafka's own broker within this process: for faults that a real one cannot be made to have.
package import CRdKafka
package import EventLog
package import KafkaLog

/// A cluster of mock brokers with our topics. They keep at most 5 MiB a partition, know neither
/// compaction nor settings of topics, and do not check who commits.
///
/// `@unchecked Sendable`: the mock cluster's functions may be called from any thread.
@safe
package final class MockCluster: @unchecked Sendable {
    /// Kinds of requests by Kafka's numbers.
    package enum Request: Int16 {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case heartbeat = 12
        case initProducer = 22
        case addOffsets = 25
        case endTransaction = 26
        case commitOffsets = 28
    }

    package let settings: KafkaSettings
    private let owner: RawClient
    private let cluster: OpaquePointer

    package init(brokers: Int = 1, partitions: Int = 4, crashPartitions: Int? = nil) throws {
        owner = try RawClient(["bootstrap.servers": "127.0.0.1:1", "log_level": "0"])
        guard let made = unsafe rd_kafka_mock_cluster_new(owner.pointer, Int32(brokers)) else {
            throw TimedOut(what: "a mock cluster")
        }
        unsafe cluster = made
        let bootstrap = unsafe String(cString: rd_kafka_mock_cluster_bootstraps(made))
        var settings = KafkaSettings(bootstrap: bootstrap)
        settings.prefix = freshPrefix()
        settings.instance = "test"
        settings.startTimeoutMilliseconds = 20_000
        settings.checksRecords = false
        self.settings = settings
        for topic in Topic.all {
            let count =
                topic == .crash
                ? crashPartitions ?? partitions : topic.isPartitioned ? partitions : 1
            unsafe rd_kafka_mock_topic_create(
                made, settings.prefix + topic.name, Int32(count), Int32(brokers))
        }
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        owner.close()
    }

    package func open(_ change: (inout KafkaSettings) -> Void = { _ in }) throws -> KafkaLog {
        var settings = settings
        change(&settings)
        return try KafkaLog(settings)
    }

    /// Lets the next requests of this kind fail, one for each code.
    package func fail(_ request: Request, _ codes: [rd_kafka_resp_err_t]) {
        unsafe codes.withUnsafeBufferPointer { buffer in
            unsafe rd_kafka_mock_push_request_errors_array(
                cluster, request.rawValue, buffer.count, buffer.baseAddress)
        }
    }

    package func heal(_ request: Request) {
        unsafe rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
    }

    package func setDown(_ broker: Int, _ isDown: Bool) {
        if isDown {
            unsafe rd_kafka_mock_broker_set_down(cluster, Int32(broker))
        } else {
            unsafe rd_kafka_mock_broker_set_up(cluster, Int32(broker))
        }
    }

    package func moveLeader(_ topic: Topic, _ partition: Int, to broker: Int) {
        unsafe rd_kafka_mock_partition_set_leader(
            cluster, settings.prefix + topic.name, Int32(partition), Int32(broker))
    }

    /// Moves the coordinator of a transactional id, or of the group with this name.
    package func moveCoordinator(_ kind: CoordinatorKind, of name: String, to broker: Int) {
        unsafe rd_kafka_mock_coordinator_set(cluster, kind.rawValue, name, Int32(broker))
    }

    package enum CoordinatorKind: String {
        case group, transaction
    }
}
