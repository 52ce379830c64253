// Appends outside transactions: what the collector and the console write.

import CRdKafka
import EventLog
import Synchronization

/// An idempotent producer that many threads share; made at the first append, since a stage that
/// only reads may lack the right to be one, and replaced when it is beyond repair.
final class RecordAppender: Sendable {
    /// What waits in the queue at most; then appends wait, and give up at their deadline.
    static let queueRecordsMax = 100_000
    static let queueKilobytesMax = 131_072
    /// Reports of timed out messages come with the library's scan, once a second.
    static let reportGraceMilliseconds = 3_000

    private let settings: KafkaSettings
    private let current = Mutex<RecordSender?>(nil)

    init(_ settings: KafkaSettings) {
        self.settings = settings
    }

    func close() { current.withLock { $0 = nil } }

    func append(_ records: [OutgoingRecord]) throws(LogFault) {
        guard !records.isEmpty else { return }
        let deadline = LogClock.steady.now() + Int64(settings.appendTimeoutMilliseconds)
        let sender = try sender()
        let board = sender.client.context.deliveries
        let ticket = board.open(count: records.count)
        var refusal: RecordSender.Refusal?
        do {
            try sender.send(records, ticket, deadline: deadline)
        } catch {
            refusal = error
            board.withdraw(ticket, count: records.count - error.index)
        }
        let left = max(0, Int(deadline - LogClock.steady.now()))
        let landing = board.close(
            ticket, waitMilliseconds: left + RecordAppender.reportGraceMilliseconds)
        if let refusal { throw fault(refusal.error, records[refusal.index], sender) }
        if let failure = landing.failure {
            throw fault(failure.error, records[failure.index], sender)
        }
        guard landing.isComplete else {
            throw fault(RDKafkaError(code: RD_KAFKA_RESP_ERR__MSG_TIMED_OUT), records[0], sender)
        }
    }

    /// The current producer, a new one after a fatal error.
    private func sender() throws(LogFault) -> RecordSender {
        try current.withLock { current throws(LogFault) in
            if let current { return current }
            let made = try RecordSender(properties, topics: Topic.all, settings: settings)
            current = made
            return made
        }
    }

    private func fault(
        _ error: RDKafkaError, _ record: OutgoingRecord, _ sender: RecordSender
    ) -> LogFault {
        let end = sender.client.fatalError
        if end != nil || error.kind == .fatal {
            // Others may still wait for reports of the old one; the last of them lets it go.
            current.withLock { if $0 === sender { $0 = nil } }
        }
        // Who may write to no topic may not even begin to: its records are only said to be purged.
        let cause = end.flatMap { $0.kind == .authorization ? $0 : nil } ?? error
        return cause.fault(
            "append", at: settings.place(of: TopicPartition(record.topic, record.partition)),
            trouble: sender.client.context.lastTrouble)
    }

    private var properties: [String: String] {
        [
            "enable.idempotence": "true",
            "acks": "all",
            "compression.codec": "lz4",
            "linger.ms": "2",
            "batch.num.messages": "10000",
            "queue.buffering.max.messages": "\(RecordAppender.queueRecordsMax)",
            "queue.buffering.max.kbytes": "\(RecordAppender.queueKilobytesMax)",
            "message.timeout.ms": "\(settings.appendTimeoutMilliseconds)",
            "partitioner": "murmur2_random",
        ]
    }
}
