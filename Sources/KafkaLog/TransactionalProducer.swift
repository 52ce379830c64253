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
    /// How long a commit tries before it is given back to the caller.
    static let commitMilliseconds: Int64 = 8_000
    static let pauseMilliseconds = 20...200

    /// A transaction under way, or one whose outcome is not known.
    private struct Attempt {
        let outputs: [OutgoingRecord]
        let positions: [TopicPartition: Int64]
        let note: CommitNote
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
        /// Whether the broker may have records that the library throws away when it aborts.
        var isUnsure = false
    }

    let settings: KafkaSettings
    private let lane: Int
    private let store: LeftoverStore
    private var client: TransactionClient?
    private var doubt: Attempt?
    var leftovers: Leftovers
    private var attempts: Int64 = 0
    /// How often a producer was replaced.
    private(set) var replacements = 0

    init(_ settings: KafkaSettings, lane: Int, _ store: LeftoverStore) {
        self.settings = settings
        self.lane = lane
        self.store = store
        leftovers = store.take(lane: lane)
    }

    /// Makes the broker settle whatever an earlier producer of this lane left open.
    func start() throws(LogFault) {
        _ = try started(deadline: LogClock.steady.now() + TransactionalProducer.commitMilliseconds)
    }

    /// Whether something may be open, and can be closed without a new client: that one would fence
    /// whoever has this lane by now.
    var mayClearLeftovers: Bool { client != nil && !leftovers.isEmpty }

    /// Gives a commit in doubt up, with its partitions: whoever restores them finds it settled.
    func abandon() throws(LogFault) {
        guard doubt != nil else { return }
        discard()
        try start()
        leaveInDoubt()
    }

    func close() {
        leaveInDoubt()
        client = nil
        store.keep(leftovers, lane: lane)
    }

    private func leaveInDoubt() {
        guard let attempt = doubt else { return }
        leftovers.add(
            Leftovers.Doubt(
                outputs: attempt.outputs, positions: attempt.positions.keys.sorted(),
                note: attempt.note))
        doubt = nil
    }

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
                if !tookEffect {
                    leftovers.add(attempt.outputs)
                } else {
                    guard attempt.positions == positions, attempt.outputs.count == outputs.count
                    else {
                        throw LogFault(
                            "commit", at: place, reason: "the commit before took effect after all",
                            hint: "restore from what is committed", remedy: .rejoin)
                    }
                    return ends(of: attempt)
                }
            }
            try clearLeftovers(member: member, deadline: deadline)
            let client = try started(deadline: deadline)
            let board = client.sender.client.context.deliveries
            attempts += 1
            let attempt = Attempt(
                outputs: outputs, positions: positions,
                note: CommitNote(generation: generation, attempt: attempts),
                board: board, ticket: outputs.isEmpty ? nil : board.open(count: outputs.count))
            do throws(Failure) {
                try transact(attempt, client, member: member, deadline: deadline)
                return ends(of: attempt)
            } catch {
                if error.stage == .ending {
                    doubt = attempt
                } else {
                    leftovers.add(attempt.outputs)
                }
                try recover(refined(error, attempt), deadline: deadline)
            }
            // Many lanes that fail together shall not come back together.
            let pause = Int.random(in: TransactionalProducer.pauseMilliseconds)
            usleep(UInt32(pause) * 1_000)
        }
    }

    var place: String { "\(settings.place) transaction \(settings.laneName(lane))" }
}

// One transaction.
extension TransactionalProducer {
    private func transact(
        _ attempt: Attempt, _ client: TransactionClient, member: GroupMember, deadline: Int64
    ) throws(Failure) {
        try step("begin") { () throws(RDKafkaError) in try client.begin(deadline: deadline) }
        if let ticket = attempt.ticket {
            do {
                try client.sender.send(attempt.outputs, ticket, deadline: deadline)
            } catch {
                let record = attempt.outputs[error.index]
                throw Failure(
                    stage: .open, error: error.error, operation: "commit: write",
                    place: settings.place(of: TopicPartition(record.topic, record.partition)))
            }
        }
        try step("positions") { () throws(RDKafkaError) in
            try client.send(
                attempt.positions, note: attempt.note.text, member: member.client,
                deadline: deadline)
        }
        if let ticket = attempt.ticket {
            try step("write") { () throws(RDKafkaError) in
                try client.confirm(ticket, deadline: deadline)
            }
        }
        try end(client, deadline: deadline)
    }

    /// Writes records to their partitions, and takes them back.
    func writeAndAbort(_ records: [OutgoingRecord], deadline: Int64) throws(LogFault) {
        let client = try started(deadline: deadline)
        let board = client.sender.client.context.deliveries
        let ticket = board.open(count: records.count)
        defer { _ = board.close(ticket, waitMilliseconds: 0) }
        do throws(RDKafkaError) {
            try client.begin(deadline: deadline)
            do {
                try client.sender.send(records, ticket, deadline: deadline)
            } catch {
                throw error.error
            }
            try client.confirm(ticket, deadline: deadline)
            if let failure = board.failure(of: ticket) { throw failure.error }
            try client.abort(deadline: deadline)
        } catch {
            // Its successor makes the broker abort what is open.
            discard()
            throw error.fault("commit: abort", at: place, trouble: client.lastTrouble)
        }
    }

    private func end(_ client: TransactionClient, deadline: Int64) throws(Failure) {
        try step("end", .ending) { () throws(RDKafkaError) in
            try client.commit(deadline: deadline)
        }
    }

    private func step(
        _ operation: String, _ stage: Failure.Stage = .open, _ body: () throws(RDKafkaError) -> Void
    ) throws(Failure) {
        do {
            try body()
        } catch {
            throw Failure(
                stage: stage, error: error, operation: "commit: " + operation, place: place)
        }
    }

    /// The offset after the last record of each partition that was written to. The library has
    /// served all reports before it asks for the end.
    private func ends(of attempt: Attempt) -> [TopicPartition: Int64] {
        guard let ticket = attempt.ticket else { return [:] }
        let landing = attempt.board.close(ticket, waitMilliseconds: 1_000)
        var ends: [TopicPartition: Int64] = [:]
        for (record, offset) in zip(attempt.outputs, landing.offsets) where offset >= 0 {
            let place = TopicPartition(record.topic, record.partition)
            ends[place] = max(ends[place, default: 0], offset + 1)
        }
        leftovers.add(committed: ends)
        return ends
    }
}

// After a failure.
extension TransactionalProducer {
    /// The record that failed says more than the transaction that failed for it. Closes the flight
    /// of an attempt that is over.
    private func refined(_ failure: Failure, _ attempt: Attempt) -> Failure {
        guard failure.stage == .open, let ticket = attempt.ticket else { return failure }
        let landing = attempt.board.close(ticket, waitMilliseconds: 0)
        var refined = failure
        refined.isUnsure = !landing.isComplete || landing.offsets.contains { $0 < 0 }
        guard let first = landing.failure else { return refined }
        let cause = first.error
        guard cause.kind == .permanent || cause.kind == .authorization else { return refined }
        let record = attempt.outputs[first.index]
        refined.error = cause
        refined.place = settings.place(of: TopicPartition(record.topic, record.partition))
        return refined
    }

    /// Leaves the producer ready for another try, or throws what the caller has to know.
    private func recover(_ failure: Failure, deadline: Int64) throws(LogFault) {
        let trouble = client?.lastTrouble
        let fault = failure.error.fault(failure.operation, at: failure.place, trouble: trouble)
        let isLate = LogClock.steady.now() >= deadline
        switch (failure.stage, failure.error.kind) {
        case (.ending, .retriable):
            // Asked for, but not answered: the same call again may still hear the answer.
            throw fault
        case (.ending, .authorization):
            // Without the right, no try is better than this one.
            discard()
            throw fault
        case (.ending, _):
            // librdkafka may have given up what the broker has done: only the broker knows.
            discard()
            if isLate { throw fault }
        case (.open, .fatal):
            discard()
            if isLate { throw fault }
        case (.open, .abortable), (.open, .retriable):
            abort(isUnsure: failure.isUnsure)
            if isLate || failure.error.kind == .retriable { throw fault }
        case (.open, .fenced), (.open, .lost), (.open, .authorization), (.open, .permanent):
            abort(isUnsure: failure.isUnsure)
            throw fault
        }
    }

    /// Whether a transaction in doubt took effect. Throws while that cannot be learnt.
    private func settle(
        _ attempt: Attempt, member: GroupMember, deadline: Int64
    ) throws(LogFault) -> Bool {
        if let client {
            do throws(Failure) {
                try end(client, deadline: deadline)
                return true
            } catch {
                try recover(error, deadline: deadline)
            }
        }
        _ = try started(deadline: deadline)
        let places = attempt.positions.keys.sorted()
        let left = max(1, Int(deadline - LogClock.steady.now()))
        let committed = try member.committed(places, timeoutMilliseconds: left)
        return places.contains { committed[$0]?.note == attempt.note.text }
    }

    /// librdkafka gives the number of a record that it throws away to the next one. If the broker
    /// has that record all the same, it takes the next one for it, and says that it is written: a
    /// commit without it would follow. A new client counts anew.
    private func abort(isUnsure: Bool) {
        defer { if isUnsure { discard() } }
        do throws(RDKafkaError) {
            let deadline = LogClock.steady.now() + TransactionClient.callMilliseconds
            try client?.abort(deadline: deadline)
        } catch {
            // The next client of this id makes the broker do it.
            discard()
        }
    }

    private func discard() {
        guard client != nil else { return }
        client = nil
        replacements += 1
    }
}

// The client itself.
extension TransactionalProducer {
    private func started(deadline: Int64) throws(LogFault) -> TransactionClient {
        if let client { return client }
        while true {
            let made = try TransactionClient(id: settings.laneName(lane), settings: settings)
            do throws(RDKafkaError) {
                made.warmUp()
                try made.start(deadline: deadline)
                client = made
                return made
            } catch {
                if error.code == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT {
                    throw timeoutRefused(made.sender.client)
                }
                // Two of the same id that start at once fence each other: one more try decides.
                guard error.kind == .fatal, LogClock.steady.now() < deadline else {
                    throw error.fault("commit: start", at: place, trouble: made.lastTrouble)
                }
            }
            let pause = Int.random(in: TransactionalProducer.pauseMilliseconds)
            usleep(UInt32(pause) * 1_000)
        }
    }

    private func timeoutRefused(_ client: RDKafkaClient) -> LogFault {
        let limit = KafkaTopics.brokerSetting("transaction.max.timeout.ms", asking: client)
        return LogFault(
            "commit: start", at: place,
            reason: "transaction.timeout.ms is \(settings.transactionMilliseconds), more than the "
                + "brokers' transaction.max.timeout.ms of \(limit ?? "a value they do not tell")",
            hint: "lower the one or raise the other", remedy: .stop)
    }
}

/// What is committed with each input position: who committed it, and in which transaction.
struct CommitNote: Equatable, Sendable {
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
