// One transactional client: the library's calls, each repeated while it may succeed later, and none
// waited for longer than it may take.

import CRdKafka
import EventLog
import Glibc

/// A producer with a transactional id, from its start until it is thrown away. One thread uses it.
final class TransactionClient {
    /// For one call of the library; and how long beyond that it is believed to return at all.
    static let callMilliseconds: Int64 = 4_000
    static let graceMilliseconds = 6_000

    let sender: RecordSender
    private let settings: KafkaSettings
    private let calls = CallThread()

    /// A producer of ours with this transactional id.
    convenience init(id: String, settings: KafkaSettings) throws(LogFault) {
        try self.init(
            [
                "transactional.id": id,
                "enable.idempotence": "true",
                "acks": "all",
                "compression.codec": "lz4",
                "linger.ms": "0",
                "batch.num.messages": "10000",
                "transaction.timeout.ms": settings.transactionMilliseconds,
                // Right after a commit the broker still writes its markers and asks for patience;
                // the library then sleeps this long, by default a hundred times as much.
                "retry.backoff.ms": "1",
                "partitioner": "murmur2_random",
            ], settings: settings)
    }

    init(_ properties: [String: String], settings: KafkaSettings) throws(LogFault) {
        self.settings = settings
        sender = try RecordSender(properties, topics: Topic.all, settings: settings)
    }

    deinit { calls.end() }

    var lastTrouble: String? { sender.client.context.lastTrouble }

    /// Makes the broker settle whatever an earlier client of this id has left open.
    func start(deadline: Int64) throws(RDKafkaError) {
        try repeatedly(deadline) { client, wait in
            unsafe RDKafkaError(taking: rd_kafka_init_transactions(client.pointer, wait))
        }
    }

    func begin(deadline: Int64) throws(RDKafkaError) {
        try repeatedly(deadline) { client, _ in
            unsafe RDKafkaError(taking: rd_kafka_begin_transaction(client.pointer))
        }
    }

    /// The group's fence: the coordinator takes the offsets only from a member of its present
    /// generation, so the proof of that is taken right before.
    func send(
        _ positions: [TopicPartition: Int64], note: String, member: RDKafkaClient, deadline: Int64
    ) throws(RDKafkaError) {
        let settings = settings
        try repeatedly(deadline) { client, wait in
            guard let (metadata, _) = unsafe GroupMember.metadata(of: member) else {
                return RDKafkaError(code: RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID)
            }
            defer { unsafe rd_kafka_consumer_group_metadata_destroy(metadata) }
            let list = RDKafkaPartitionList(capacity: positions.count)
            for (place, position) in positions.sorted(by: { $0.key < $1.key }) {
                list.add(
                    settings.name(of: place.topic), place.partition, offset: position, note: note)
            }
            return unsafe RDKafkaError(
                taking: rd_kafka_send_offsets_to_transaction(
                    client.pointer, list.pointer, metadata, wait))
        }
    }

    /// Waits until all records of the transaction are written; throws when one of these may be
    /// missing although the library would commit it. Other failures are told by the commit.
    func confirm(
        _ ticket: DeliveryBoard.Ticket, deadline: Int64
    ) throws(RDKafkaError) {
        try repeatedly(deadline) { client, wait in
            let code = unsafe rd_kafka_flush(client.pointer, wait)
            return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : RDKafkaError(code: code)
        }
        let failure = sender.client.context.deliveries.failure(of: ticket)
        if let error = failure?.error, error.code == RDKafkaError.unproven.code { throw error }
    }

    func commit(deadline: Int64) throws(RDKafkaError) {
        try repeatedly(deadline) { client, wait in
            unsafe RDKafkaError(taking: rd_kafka_commit_transaction(client.pointer, wait))
        }
    }

    func abort(deadline: Int64) throws(RDKafkaError) {
        try repeatedly(deadline) { client, wait in
            unsafe RDKafkaError(taking: rd_kafka_abort_transaction(client.pointer, wait))
        }
    }

    /// The first transaction would wait for the leaders of its topics while its time runs.
    func warmUp() {
        var metadata: UnsafePointer<rd_kafka_metadata>? = nil
        let code = unsafe rd_kafka_metadata(
            sender.client.pointer, 0, nil, &metadata, Int32(TransactionClient.callMilliseconds))
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { unsafe rd_kafka_metadata_destroy(metadata) }
    }

    /// Repeats a call that may succeed later: librdkafka goes on where it was.
    private func repeatedly(
        _ deadline: Int64, _ call: @escaping @Sendable (RDKafkaClient, Int32) -> RDKafkaError?
    ) throws(RDKafkaError) {
        // Held by the call itself, so that a client is never closed under one that hangs.
        let sender = sender
        while true {
            let left = max(1, deadline - LogClock.steady.now())
            let wait = min(left, TransactionClient.callMilliseconds)
            var isStuck = false
            let error = calls.run(
                waitMilliseconds: Int(wait) + TransactionClient.graceMilliseconds,
                isStuck: &isStuck
            ) { call(sender.client, Int32(wait)) }
            if isStuck {
                throw RDKafkaError(
                    code: RD_KAFKA_RESP_ERR__TIMED_OUT, text: "the library does not return",
                    kind: .fatal)
            }
            guard let error else { return }
            guard error.kind == .retriable, LogClock.steady.now() < deadline else { throw error }
            // Most of them have waited already; those that have not shall not turn in circles.
            usleep(1_000)
        }
    }
}

extension KafkaSettings {
    /// How long a transaction may stay open: at most the session's time-out, so that a dead lane
    /// blocks nobody longer than its membership.
    var transactionMilliseconds: String { properties["transaction.timeout.ms"] ?? "10000" }
}
