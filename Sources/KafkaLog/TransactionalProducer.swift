// Commits outputs with input positions in one transaction, once, whatever happens on the way.

import CRdKafka
import EventLog
import Glibc

/// One lane's producer. One thread owns it.
///
/// A commit whose outcome is not known is settled by a new producer of the same id: its start makes
/// the broker finish or abort what was open. Which of both it was, the note committed with the
/// offsets tells: it is another one for each transaction.
final class TransactionalProducer {
    /// At most the session's time-out, so that a dead lane blocks nobody longer than its
    /// membership.
    static let transactionMilliseconds = 10_000
    /// How long a commit tries before it is given back to the caller.
    static let commitMilliseconds: Int64 = 8_000
    /// For one call of the library.
    static let callMilliseconds: Int64 = 4_000
    static let pauseMilliseconds = 20...200

    /// A transaction under way, or one whose outcome is not known.
    private struct Attempt {
        let outputs: [OutgoingRecord]
        let positions: [TopicPartition: Int64]
        let note: String
        let board: DeliveryBoard
        let ticket: DeliveryBoard.Ticket?
    }

    /// Where a transaction failed: before the end was asked for, nothing can have been committed.
    private struct Failure: Error {
        enum Stage {
            case open
            case ending
        }
        var stage: Stage
        var error: RDKafkaError
        var operation: String
        var place: String
    }

    private let settings: KafkaSettings
    private let lane: Int
    private var sender: RecordSender?
    private var doubt: Attempt?
    private var attempts: Int64 = 0
    /// How often a producer was replaced.
    private(set) var replacements = 0

    init(_ settings: KafkaSettings, lane: Int) {
        self.settings = settings
        self.lane = lane
    }

    /// Makes the broker settle whatever an earlier producer of this lane left open.
    func start() throws(LogFault) {
        _ = try producer(deadline: LogClock.steady.now() + TransactionalProducer.commitMilliseconds)
    }

    /// Forgets a commit in doubt, after its partitions were given up; its outcome is settled, so
    /// that whoever restores them reads it.
    func abandon() throws(LogFault) {
        guard doubt != nil else { return }
        discard()
        try start()
        doubt = nil
    }

    func close() { sender = nil }

    /// As `LogWorker.commit`. Positions carry the generation in their notes.
    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64], generation: Int64,
        member: GroupMember
    ) throws(LogFault) -> [TopicPartition: Int64] {
        let deadline = LogClock.steady.now() + TransactionalProducer.commitMilliseconds
        while true {
            if let attempt = doubt {
                let tookEffect = try settle(attempt, member: member, deadline: deadline)
                doubt = nil
                if tookEffect {
                    guard attempt.positions == positions, attempt.outputs.count == outputs.count
                    else {
                        throw LogFault(
                            "commit", at: place, reason: "the commit before took effect after all",
                            hint: "restore from what is committed", remedy: .rejoin)
                    }
                    return TransactionalProducer.ends(of: attempt)
                }
            }
            let client = try producer(deadline: deadline).client
            let board = client.context.deliveries
            attempts += 1
            let attempt = Attempt(
                outputs: outputs, positions: positions,
                note: CommitNote(generation: generation, attempt: attempts).text,
                board: board, ticket: outputs.isEmpty ? nil : board.open(count: outputs.count))
            do throws(Failure) {
                try transact(attempt, member: member, deadline: deadline)
                return TransactionalProducer.ends(of: attempt)
            } catch {
                if error.stage == .ending { doubt = attempt }
                try recover(refined(error, attempt), deadline: deadline)
            }
            // Many lanes that fail together shall not come back together.
            let pause = Int.random(in: TransactionalProducer.pauseMilliseconds)
            usleep(UInt32(pause) * 1_000)
        }
    }

    private var place: String { "\(settings.place) transaction \(settings.laneName(lane))" }
}

// One transaction.
extension TransactionalProducer {
    private func transact(
        _ attempt: Attempt, member: GroupMember, deadline: Int64
    ) throws(Failure) {
        guard let producer = sender else { return }
        let client = producer.client
        if let error = unsafe RDKafkaError(taking: rd_kafka_begin_transaction(client.pointer)) {
            throw failure("begin", error)
        }
        if let ticket = attempt.ticket {
            try produce(attempt.outputs, ticket, producer, deadline: deadline)
        }
        try send(attempt, member: member, client, deadline: deadline)
        try end(client, deadline: deadline)
    }

    private func produce(
        _ outputs: [OutgoingRecord], _ ticket: DeliveryBoard.Ticket, _ producer: RecordSender,
        deadline: Int64
    ) throws(Failure) {
        do {
            try producer.send(outputs, ticket, deadline: deadline)
        } catch {
            let record = outputs[error.index]
            throw Failure(
                stage: .open, error: error.error, operation: "write",
                place: settings.place(of: TopicPartition(record.topic, record.partition)))
        }
    }

    /// The group's fence: the coordinator takes the offsets only from a member of its present
    /// generation, so the proof of that is taken right before.
    private func send(
        _ attempt: Attempt, member: GroupMember, _ client: RDKafkaClient, deadline: Int64
    ) throws(Failure) {
        guard let (metadata, _) = unsafe member.groupMetadata() else {
            throw failure(
                "commit positions",
                RDKafkaError(code: RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID))
        }
        defer { unsafe rd_kafka_consumer_group_metadata_destroy(metadata) }
        let list = RDKafkaPartitionList(capacity: attempt.positions.count)
        for (place, position) in attempt.positions.sorted(by: { $0.key < $1.key }) {
            list.add(
                settings.name(of: place.topic), place.partition, offset: position,
                note: attempt.note)
        }
        try repeatedly("commit positions", deadline: deadline) { wait in
            unsafe RDKafkaError(
                taking: rd_kafka_send_offsets_to_transaction(
                    client.pointer, list.pointer, metadata, wait))
        }
    }

    private func end(_ client: RDKafkaClient, deadline: Int64) throws(Failure) {
        do throws(Failure) {
            try repeatedly("end", deadline: deadline) { wait in
                unsafe RDKafkaError(taking: rd_kafka_commit_transaction(client.pointer, wait))
            }
        } catch {
            var error = error
            error.stage = .ending
            throw error
        }
    }

    /// The offset after the last record of each partition that was written to. The library has
    /// served all reports before it asks for the end.
    private static func ends(of attempt: Attempt) -> [TopicPartition: Int64] {
        guard let ticket = attempt.ticket else { return [:] }
        let landing = attempt.board.close(ticket, waitMilliseconds: 1_000)
        var ends: [TopicPartition: Int64] = [:]
        for (record, offset) in zip(attempt.outputs, landing.offsets) where offset >= 0 {
            let place = TopicPartition(record.topic, record.partition)
            ends[place] = max(ends[place, default: 0], offset + 1)
        }
        return ends
    }

    /// Repeats a call that may succeed later: librdkafka goes on where it was.
    private func repeatedly(
        _ operation: String, deadline: Int64, _ call: (Int32) -> RDKafkaError?
    ) throws(Failure) {
        while true {
            let left = max(1, deadline - LogClock.steady.now())
            let wait = Int32(min(left, TransactionalProducer.callMilliseconds))
            guard let error = call(wait) else { return }
            guard error.kind == .retriable, LogClock.steady.now() < deadline else {
                throw failure(operation, error)
            }
            // Most of them have waited already; those that have not shall not turn in circles.
            usleep(1_000)
        }
    }

    private func failure(_ operation: String, _ error: RDKafkaError) -> Failure {
        Failure(
            stage: .open, error: error, operation: "commit: \(operation)", place: place)
    }
}

// After a failure.
extension TransactionalProducer {
    /// The record that failed says more than the transaction that failed for it. Closes the flight
    /// of an attempt that is over.
    private func refined(_ failure: Failure, _ attempt: Attempt) -> Failure {
        guard failure.stage == .open, let ticket = attempt.ticket else { return failure }
        let landing = attempt.board.close(ticket, waitMilliseconds: 0)
        guard let first = landing.failure else { return failure }
        let cause = RDKafkaError(code: first.code)
        guard cause.kind == .permanent || cause.kind == .authorization else { return failure }
        let record = attempt.outputs[first.index]
        return Failure(
            stage: .open, error: cause, operation: failure.operation,
            place: settings.place(of: TopicPartition(record.topic, record.partition)))
    }

    /// Leaves the producer ready for another try, or throws what the caller has to know.
    private func recover(_ failure: Failure, deadline: Int64) throws(LogFault) {
        let trouble = sender?.client.context.lastTrouble
        let fault = failure.error.fault(failure.operation, at: failure.place, trouble: trouble)
        let isLate = LogClock.steady.now() >= deadline
        switch (failure.stage, failure.error.kind) {
        case (.ending, .retriable):
            // Asked for, but not answered: the same call again may still hear the answer.
            throw fault
        case (.ending, _):
            // librdkafka may have given up what the broker has done: only the broker knows.
            discard()
            if isLate { throw fault }
        case (.open, .fatal):
            discard()
            if isLate { throw fault }
        case (.open, .abortable), (.open, .retriable):
            abort()
            if isLate || failure.error.kind == .retriable { throw fault }
        case (.open, .fenced), (.open, .lost), (.open, .authorization), (.open, .permanent):
            abort()
            throw fault
        }
    }

    /// Whether a transaction in doubt took effect. Throws while that cannot be learnt.
    private func settle(
        _ attempt: Attempt, member: GroupMember, deadline: Int64
    ) throws(LogFault) -> Bool {
        if let client = sender?.client {
            do throws(Failure) {
                try end(client, deadline: deadline)
                return true
            } catch {
                try recover(error, deadline: deadline)
            }
        }
        _ = try producer(deadline: deadline)
        let places = attempt.positions.keys.sorted()
        let left = max(1, Int(deadline - LogClock.steady.now()))
        let committed = try member.committed(places, timeoutMilliseconds: left)
        return places.contains { committed[$0]?.note == attempt.note }
    }

    private func abort() {
        guard let client = sender?.client else { return }
        let deadline = LogClock.steady.now() + TransactionalProducer.callMilliseconds
        do throws(Failure) {
            try repeatedly("abort", deadline: deadline) { wait in
                unsafe RDKafkaError(taking: rd_kafka_abort_transaction(client.pointer, wait))
            }
        } catch {
            // The next producer of this id makes the broker do it.
            discard()
        }
    }

    private func discard() {
        guard sender != nil else { return }
        sender = nil
        replacements += 1
    }
}

// The producer itself.
extension TransactionalProducer {
    private func producer(deadline: Int64) throws(LogFault) -> RecordSender {
        if let sender { return sender }
        while true {
            let made = try RecordSender(properties, topics: Topic.all, settings: settings)
            do throws(Failure) {
                warmUp(made.client)
                try repeatedly("start", deadline: deadline) { wait in
                    unsafe RDKafkaError(
                        taking: rd_kafka_init_transactions(made.client.pointer, wait))
                }
                sender = made
                return made
            } catch {
                if error.error.code == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT {
                    throw timeoutRefused(made.client)
                }
                // Two of the same id that start at once fence each other: one more try decides.
                guard error.error.kind == .fatal, LogClock.steady.now() < deadline else {
                    throw error.error.fault(
                        error.operation, at: error.place,
                        trouble: made.client.context.lastTrouble)
                }
            }
            let pause = Int.random(in: TransactionalProducer.pauseMilliseconds)
            usleep(UInt32(pause) * 1_000)
        }
    }

    private var timeoutMilliseconds: String {
        settings.properties["transaction.timeout.ms"]
            ?? "\(TransactionalProducer.transactionMilliseconds)"
    }

    private var properties: [String: String] {
        [
            "transactional.id": settings.laneName(lane),
            "enable.idempotence": "true",
            "acks": "all",
            "compression.codec": "lz4",
            "linger.ms": "0",
            "batch.num.messages": "10000",
            "transaction.timeout.ms": timeoutMilliseconds,
            // Right after a commit the broker still writes its markers and asks for patience; the
            // library then sleeps this long, by default a hundred times as much.
            "retry.backoff.ms": "1",
            "partitioner": "murmur2_random",
        ]
    }

    /// The first transaction would wait for the leaders of its topics while its time runs.
    private func warmUp(_ client: RDKafkaClient) {
        var metadata: UnsafePointer<rd_kafka_metadata>? = nil
        let code = unsafe rd_kafka_metadata(
            client.pointer, 0, nil, &metadata, Int32(TransactionalProducer.callMilliseconds))
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { unsafe rd_kafka_metadata_destroy(metadata) }
    }

    private func timeoutRefused(_ client: RDKafkaClient) -> LogFault {
        let limit = KafkaTopics.brokerSetting("transaction.max.timeout.ms", asking: client)
        return LogFault(
            "commit: start", at: place,
            reason: "transaction.timeout.ms is \(timeoutMilliseconds), more than the brokers' "
                + "transaction.max.timeout.ms of \(limit ?? "a value they do not tell")",
            hint: "lower the one or raise the other", remedy: .stop)
    }
}

/// What is committed with each input position: who committed it, and in which transaction.
struct CommitNote: Equatable {
    var generation: Int64
    var attempt: Int64

    init(generation: Int64, attempt: Int64) {
        self.generation = generation
        self.attempt = attempt
    }

    /// Nil for what others wrote there, such as a tool that resets offsets.
    init?(_ text: String?) {
        let parts = (text ?? "").split(separator: " ")
        guard parts.count == 3, parts[0] == "adbrake/1", let generation = Int64(parts[1]),
            let attempt = Int64(parts[2])
        else { return nil }
        self.init(generation: generation, attempt: attempt)
    }

    var text: String { "adbrake/1 \(generation) \(attempt)" }
}
