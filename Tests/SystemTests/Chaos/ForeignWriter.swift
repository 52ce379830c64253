// Somebody else who writes into our topics by a transaction, and leaves it open; and whether one is
// open now.
import EventLog

@testable import KafkaLog

/// A transaction that is not ours. Its records must never be seen.
final class ForeignWriter {
    private static let patienceMilliseconds: Int64 = 30_000
    private let client: TransactionClient

    /// Begins, writes, and waits until the brokers have it.
    init(_ settings: KafkaSettings, writing records: [OutgoingRecord]) throws {
        client = try TransactionClient(
            [
                "transactional.id": settings.prefix + "foreign", "enable.idempotence": "true",
                "transaction.timeout.ms": "120000", "linger.ms": "0",
            ], settings: settings)
        let deadline = LogClock.steady.now() + Self.patienceMilliseconds
        try client.start(deadline: deadline)
        try client.begin(deadline: deadline)
        let board = client.sender.client.context.deliveries
        let ticket = board.open(count: records.count)
        try client.sender.send(records, ticket, deadline: deadline)
        let landing = board.close(ticket, waitMilliseconds: Int(Self.patienceMilliseconds))
        guard landing.isComplete, landing.failure == nil else {
            throw ChaosFailure("a foreign transaction could not write")
        }
    }

    func abort() throws {
        try client.abort(deadline: LogClock.steady.now() + Self.patienceMilliseconds)
    }
}

/// Compares where partitions end for readers of committed records and for all.
final class OpenTransactions {
    private let settings: KafkaSettings
    private let committed: RDKafkaClient
    private let uncommitted: RDKafkaClient
    private static let questionMilliseconds = 2_000

    init(_ settings: KafkaSettings) throws {
        self.settings = settings
        committed = try RDKafkaClient(
            .inquirer, ["isolation.level": "read_committed"], settings: settings)
        uncommitted = try RDKafkaClient(
            .inquirer, ["isolation.level": "read_uncommitted"], settings: settings)
    }

    deinit {
        committed.close()
        uncommitted.close()
    }

    /// The partitions in which a transaction is open, with its first offset.
    func first(in places: [TopicPartition]) throws -> [TopicPartition: Int64] {
        let ends = try settings.ends(
            of: places, asking: uncommitted, timeoutMilliseconds: Self.questionMilliseconds)
        let stable = try settings.ends(
            of: places, asking: committed, timeoutMilliseconds: Self.questionMilliseconds)
        return stable.filter { $0.value < ends[$0.key, default: 0] }
    }
}
