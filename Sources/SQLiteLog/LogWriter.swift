// Group commit: threads that write leave their work in a bounded queue; one of them leads, takes
// what has gathered into one transaction, and hands the others their replies. No thread of its own.
import EventLog
import Runtime

/// What a thread wants written.
enum WriteWork: Sendable {
    case append([OutgoingRecord])
    case commit(
        WorkerGroup.MemberID, owner: Int64, [OutgoingRecord], positions: [TopicPartition: Int64])
    /// Begins a new assignment. As a newcomer it fences another owner, else it is fenced itself.
    case takeOver(owner: Int64, isNewcomer: Bool)
    /// Makes somebody the holder of a name.
    case takeName([UInt8])
    /// As `append`, by the holder of a name.
    case appendAs([UInt8], holder: Int64, [OutgoingRecord])
    case maintain

    /// An estimate that counts the records' overhead.
    var bytes: Int {
        switch self {
        case .append(let records), .commit(_, _, let records, _), .appendAs(_, _, let records):
            records.reduce(0) { $0 + $1.bytes + LogBatch.recordOverhead }
        case .takeOver, .takeName, .maintain: 0
        }
    }
}

/// What has become of it.
enum WriteReply: Sendable {
    case done
    case committed([TopicPartition: Int64])
    case assigned(generation: Int64, owner: Int64)
    case named(holder: Int64)
    case maintained(hasMore: Bool)
    case fenced
}

/// The connection that writes, shared by all threads of the process.
///
/// Unchecked: connection and statements are used by the leading thread only, and leadership passes
/// from one to the next under the queue's lock.
final class LogWriter: @unchecked Sendable {
    /// What may wait in the queue before more is refused.
    static let queueBytesMax = 64 << 20
    /// What one transaction takes from the queue, one piece of work at least.
    static let groupBytesMax = 8 << 20

    /// Unchecked: read and written under the queue's lock only.
    private final class Request: @unchecked Sendable {
        let work: WriteWork
        let bytes: Int
        var reply: Result<WriteReply, LogFault>?

        init(_ work: WriteWork) {
            self.work = work
            bytes = work.bytes
        }
    }

    private struct Queue: Sendable {
        var requests: [Request] = []
        var bytes = 0
        var isLed = false
    }

    private let queue = Monitor(Queue())
    private let shared: Monitor<SharedState>
    private let connection: Connection
    private let statements: WriteStatements
    private let upkeep: Upkeep
    private let layout: Layout
    private let writeAhead: WriteAhead
    private let clock: LogClock

    init(
        _ connection: Connection, _ layout: Layout, _ shared: Monitor<SharedState>,
        clock: LogClock, writeAhead: WriteAhead
    ) throws(LogFault) {
        self.connection = connection
        self.layout = layout
        self.shared = shared
        self.clock = clock
        self.writeAhead = writeAhead
        statements = try WriteStatements(connection)
        upkeep = try Upkeep(connection, layout)
    }

    /// No other thread may be writing.
    func close() {
        connection.close()
    }

    /// Does the work, together with that of other threads, and returns once it is on disk.
    func perform(_ work: WriteWork) throws(LogFault) -> WriteReply {
        let request = Request(work)
        try enqueue(request)
        while true {
            let reply = queue.wait(milliseconds: nil) { queue -> Result<WriteReply, LogFault>?? in
                if let reply = request.reply { return .some(reply) }
                if queue.isLed { return nil }
                queue.isLed = true
                return .some(nil)
            }
            if case .some(.some(let reply)) = reply { return try reply.get() }
            lead()
        }
    }

    private func enqueue(_ request: Request) throws(LogFault) {
        try queue.withLock { queue throws(LogFault) in
            guard
                queue.requests.isEmpty || queue.bytes + request.bytes <= LogWriter.queueBytesMax
            else {
                throw LogFault(
                    "append", at: "sqlite:\(connection.path)",
                    reason: "\(queue.bytes >> 20) MB are waiting to be written",
                    hint: "the disk is too slow for what arrives", remedy: .retry)
            }
            queue.requests.append(request)
            queue.bytes += request.bytes
        }
    }

    /// Takes a group from the queue, writes it, and sets the replies.
    private func lead() {
        let group = queue.withLock { queue in
            var bytes = 0
            let count = queue.requests.prefix { request in
                defer { bytes += request.bytes }
                return bytes + request.bytes <= LogWriter.groupBytesMax
            }.count
            let group = Array(queue.requests.prefix(max(count, 1)))
            queue.requests.removeFirst(group.count)
            return group
        }
        let replies = Result { () throws(LogFault) in try write(group.map(\.work)) }
        queue.withLock { queue in
            for (index, request) in group.enumerated() {
                request.reply = replies.map { $0[index] }
                queue.bytes -= request.bytes
            }
            queue.isLed = false
        }
    }

    /// Writes a group in one transaction: all of it, or nothing and a fault.
    private func write(_ group: [WriteWork]) throws(LogFault) -> [WriteReply] {
        guard !connection.hasMoved else {
            throw LogFault(
                "append", at: "sqlite:\(connection.path)",
                reason: "the file has been moved or deleted while it was open",
                hint: "put it back with the file beside it that ends in -wal, and start again",
                remedy: .stop)
        }
        try writeAhead.makeRoom(connection)
        shared.withLock { $0.writing = $0.time(clock.now()) }
        defer {
            shared.withLock { state in
                state.writing = nil
                state.version += 1
            }
        }
        let replies: [WriteReply]
        do throws(LogFault) {
            var transaction = try WriteTransaction.begin(statements, layout) {
                shared.withLock { $0.time(clock.now()) }
            }
            var done: [WriteReply] = []
            for work in group { done.append(try write(work, &transaction)) }
            try transaction.commit()
            replies = done
        } catch {
            // After some errors SQLite has already rolled back. A roll-back does not touch the
            // disk; if it fails all the same, the next begin says so.
            if connection.isInTransaction { try? statements.rollback.run() }
            throw error
        }
        try writeAhead.checkpoint(connection)
        return replies
    }

    private func write(
        _ work: WriteWork, _ transaction: inout WriteTransaction
    ) throws(LogFault) -> WriteReply {
        switch work {
        case .append(let records):
            for record in records { try transaction.append(record) }
            return .done
        case .commit(let member, let owner, let outputs, let positions):
            let mayCommit = shared.withLock {
                $0.group.mayCommit(member, outputs, positions: positions)
            }
            guard mayCommit, transaction.owner == owner else { return .fenced }
            return .committed(try transaction.commit(outputs, positions: positions))
        case .takeOver(let owner, let isNewcomer):
            let isOwner = transaction.owner == owner && owner != 0
            guard isOwner || isNewcomer else { return .fenced }
            transaction.takeOver(owner: isOwner ? owner : nil)
            return .assigned(generation: transaction.generation, owner: transaction.owner)
        case .takeName(let name):
            return .named(holder: try transaction.takeName(name))
        case .appendAs(let name, let holder, let records):
            guard try transaction.holder(of: name) == holder else { return .fenced }
            for record in records { try transaction.append(record) }
            return .done
        case .maintain:
            return .maintained(hasMore: try upkeep.runSlice(&transaction))
        }
    }
}
