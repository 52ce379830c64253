// Appends in transactions of a name: Kafka's own fence between producers of one transactional id.

import CRdKafka
import EventLog

/// The holder of a name, until another producer of the same id begins. One thread owns it.
final class KafkaAppender: ExclusiveAppender {
    /// How long an append may take; less than the broker leaves a transaction open.
    static let appendMilliseconds: Int64 = 8_000

    private let settings: KafkaSettings
    private let name: String
    /// Nil once an append has failed: what became of it only a new appender can tell.
    private var client: TransactionClient?

    init(_ settings: KafkaSettings, name: String) throws(LogFault) {
        self.settings = settings
        self.name = name
        let client = try TransactionClient(id: settings.appenderID(name), settings: settings)
        client.warmUp()
        do throws(RDKafkaError) {
            // Ends or aborts what the holder before had open.
            try client.start(deadline: LogClock.steady.now() + Self.appendMilliseconds)
        } catch {
            throw error.fault("take the name", at: place, trouble: client.lastTrouble)
        }
        self.client = client
    }

    func append(_ records: [OutgoingRecord]) throws(LogFault) {
        guard !records.isEmpty else { return }
        guard let client else {
            throw LogFault("append", at: place, reason: "an append before failed", remedy: .retry)
        }
        do throws(LogFault) {
            try transact(records, client)
        } catch {
            self.client = nil
            throw error
        }
    }

    func close() { client = nil }

    private var place: String { "\(settings.place) transaction \(settings.appenderID(name))" }

    private func transact(
        _ records: [OutgoingRecord], _ client: TransactionClient
    ) throws(LogFault) {
        let deadline = LogClock.steady.now() + Self.appendMilliseconds
        let board = client.sender.client.context.deliveries
        try step(client) { () throws(RDKafkaError) in try client.begin(deadline: deadline) }
        let ticket = board.open(count: records.count)
        do {
            try client.sender.send(records, ticket, deadline: deadline)
        } catch {
            _ = board.close(ticket, waitMilliseconds: 0)
            throw fault(error.error, client)
        }
        // The library serves all reports before it asks for the end.
        defer { _ = board.close(ticket, waitMilliseconds: 0) }
        try step(client) { () throws(RDKafkaError) in
            try client.confirm(ticket, deadline: deadline)
            try client.commit(deadline: deadline)
        }
    }

    private func step(
        _ client: TransactionClient, _ body: () throws(RDKafkaError) -> Void
    ) throws(LogFault) {
        do {
            try body()
        } catch {
            throw fault(error, client)
        }
    }

    private func fault(_ error: RDKafkaError, _ client: TransactionClient) -> LogFault {
        // No transaction of ours is open for so long that it could have timed out instead.
        let codes = [
            RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
        ]
        if codes.contains(error.code) { return .nameTaken(name, at: place) }
        return error.fault("append", at: place, trouble: client.lastTrouble)
    }
}

extension KafkaSettings {
    /// The transactional id of an exclusive appender.
    func appenderID(_ name: String) -> String { "\(prefix)appender-\(name)" }
}
