// librdkafka's own broker within this process: for faults that a real one cannot be made to have.
import CRdKafka
import EventLog

@testable import KafkaLog

/// A cluster of mock brokers with our topics. They keep at most 5 MiB a partition, know neither
/// compaction nor settings of topics, and do not check who commits.
///
/// `@unchecked Sendable`: the mock cluster's functions may be called from any thread.
@safe
final class MockCluster: @unchecked Sendable {
    /// Kinds of requests by Kafka's numbers.
    enum Request: Int16 {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case initProducer = 22
        case addOffsets = 25
        case endTransaction = 26
        case commitOffsets = 28
    }

    let settings: KafkaSettings
    private let owner: RDKafkaClient
    private let cluster: OpaquePointer

    init(brokers: Int = 1, partitions: Int = 4, crashPartitions: Int? = nil) throws {
        var own = KafkaSettings(bootstrap: "unused")
        own.prefix = freshPrefix()
        owner = try RDKafkaClient(.producer, [:], settings: own)
        guard let made = unsafe rd_kafka_mock_cluster_new(owner.pointer, Int32(brokers)) else {
            throw TimedOut(what: "a mock cluster")
        }
        unsafe cluster = made
        let bootstrap = unsafe String(cString: rd_kafka_mock_cluster_bootstraps(made))
        var settings = KafkaSettings(bootstrap: bootstrap)
        settings.prefix = own.prefix
        settings.instance = "test"
        settings.startTimeoutMilliseconds = 20_000
        self.settings = settings
        for topic in Topic.all {
            let count =
                topic == .crash
                ? crashPartitions ?? partitions : topic.isPartitioned ? partitions : 1
            unsafe rd_kafka_mock_topic_create(
                made, settings.name(of: topic), Int32(count), Int32(brokers))
        }
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        owner.close()
    }

    func open(_ change: (inout KafkaSettings) -> Void = { _ in }) throws -> KafkaLog {
        var settings = settings
        change(&settings)
        return try KafkaLog(settings)
    }

    /// Lets the next requests of this kind fail, one for each code.
    func fail(_ request: Request, _ codes: [rd_kafka_resp_err_t]) {
        unsafe codes.withUnsafeBufferPointer { buffer in
            unsafe rd_kafka_mock_push_request_errors_array(
                cluster, request.rawValue, buffer.count, buffer.baseAddress)
        }
    }

    func heal(_ request: Request) {
        unsafe rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
    }

    func setDown(_ broker: Int, _ isDown: Bool) {
        if isDown {
            unsafe rd_kafka_mock_broker_set_down(cluster, Int32(broker))
        } else {
            unsafe rd_kafka_mock_broker_set_up(cluster, Int32(broker))
        }
    }

    /// Lets every answer of a broker come so late.
    func delay(_ broker: Int, milliseconds: Int) {
        unsafe rd_kafka_mock_broker_set_rtt(cluster, Int32(broker), Int32(milliseconds))
    }

    func moveLeader(_ topic: Topic, _ partition: Int, to broker: Int) {
        unsafe rd_kafka_mock_partition_set_leader(
            cluster, settings.name(of: topic), Int32(partition), Int32(broker))
    }

    func moveTransactionCoordinator(lane: Int, to broker: Int) {
        unsafe rd_kafka_mock_coordinator_set(
            cluster, "transaction", settings.laneName(lane), Int32(broker))
    }
}
