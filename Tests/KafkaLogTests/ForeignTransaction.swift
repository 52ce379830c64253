// A transaction of somebody else, in the middle of ours.
import CRdKafka
import EventLog

@testable import KafkaLog

/// Begins a transaction, writes, and leaves it open.
final class ForeignTransaction {
    private let sender: RecordSender
    private var client: RDKafkaClient { sender.client }

    init(
        _ settings: KafkaSettings, id: String = "foreign", writing records: [OutgoingRecord]
    ) throws {
        sender = try RecordSender(
            [
                "transactional.id": settings.prefix + id, "enable.idempotence": "true",
                "transaction.timeout.ms": "60000", "linger.ms": "0", "retry.backoff.ms": "1",
            ], topics: Topic.all, settings: settings)
        try check(
            unsafe RDKafkaError(taking: rd_kafka_init_transactions(sender.client.pointer, 30_000)))
        try check(unsafe RDKafkaError(taking: rd_kafka_begin_transaction(sender.client.pointer)))
        let board = sender.client.context.deliveries
        let ticket = board.open(count: records.count)
        try sender.send(records, ticket, deadline: LogClock.steady.now() + 30_000)
        let landing = board.close(ticket, waitMilliseconds: 30_000)
        guard landing.isComplete, landing.failure == nil else {
            throw TimedOut(what: "a foreign transaction")
        }
    }

    func commit() throws {
        try check(unsafe RDKafkaError(taking: rd_kafka_commit_transaction(client.pointer, 30_000)))
    }

    func abort() throws {
        try check(unsafe RDKafkaError(taking: rd_kafka_abort_transaction(client.pointer, 30_000)))
    }

    private func check(_ error: RDKafkaError?) throws {
        if let error { throw error }
    }
}
