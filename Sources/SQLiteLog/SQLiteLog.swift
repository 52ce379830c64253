// The log in one SQLite file: nothing to install or operate, and a commit is one transaction.
package import EventLog
import Glibc
import Runtime

/// What the threads of a process share about a log.
struct SharedState: Sendable {
    var group: WorkerGroup
    /// The set of workers of this process, 0 before the first.
    var owner: Int64 = 0
    var generation: Int64 = 0
    /// Members have left since the last generation was made.
    var isUnsettled = false
    /// Rises with every write, for those who wait.
    var version = 0
    var isInterrupted = false
    /// Set while a transaction is open: its append time is not below this.
    var writing: Int64?
    private var latest = Int64.min

    init(partitions: Int) {
        group = WorkerGroup(partitions: partitions)
    }

    /// The time, which never goes back within a process.
    mutating func time(_ now: Int64) -> Int64 {
        latest = max(latest, now)
        return latest
    }

    /// What was appended by this process before the time returned can be read.
    mutating func asOf(_ now: Int64) -> Int64 {
        min(time(now), writing ?? Int64.max)
    }
}

/// A log in a file of SQLite's, in write-ahead mode. Other processes may read and append, too.
///
/// What a poll says is complete is so for all appends of this process; those of another one may
/// carry a time that is earlier by as long as their transaction took. The file does not shrink:
/// what upkeep frees is used again.
package final class SQLiteLog: EventLog {
    /// The file's last record may be so much later than the clock before the log refuses to open:
    /// with append times that never go back, time would stand still until the clock is there.
    static let clockBehindMaxMilliseconds: Int64 = 3_600_000

    package let partitions: Int
    package let place: String

    let path: String
    let layout: Layout
    let clock: LogClock
    let shared: Monitor<SharedState>
    private let writer: LogWriter
    private let lookup: Monitor<ReadSession>
    /// Held while a lane joins or a generation is made: two lanes that join at the same moment
    /// would each take the other for one of a process that is to be fenced.
    private let settling = Monitor(())

    /// Opens the log in a file, which is made when it is not there. The number of partitions is
    /// fixed then; nil takes what the file has, or the usual number.
    package convenience init(
        path: String, partitions: Int? = nil, clock: LogClock = .wall
    ) throws(LogFault) {
        try self.init(path: path, partitions: partitions, clock: clock, writeAhead: WriteAhead())
    }

    init(
        path: String, partitions: Int?, clock: LogClock, writeAhead: WriteAhead,
        prepare: (Connection) throws(LogFault) -> Void = { _ in }
    ) throws(LogFault) {
        self.path = path
        self.clock = clock
        place = "sqlite:\(path)"
        try SQLiteLog.checkRequest(path: path, partitions: partitions)
        let connection = try Connection(path: path, isCreating: true)
        do throws(LogFault) {
            layout = try Layout.open(connection, partitions: partitions)
            self.partitions = layout.partitions
            try SQLiteLog.checkClock(connection, now: clock.now())
            try prepare(connection)
            shared = Monitor(SharedState(partitions: layout.partitions))
            writer = try LogWriter(
                connection, layout, shared, clock: clock, writeAhead: writeAhead)
            lookup = Monitor(try ReadSession(path: path, layout))
        } catch {
            connection.close()
            throw error
        }
    }

    package func append(_ records: [OutgoingRecord]) throws(LogFault) {
        for record in records { record.checkFit(partitions: partitions) }
        guard !records.isEmpty else { return }
        _ = try writer.perform(.append(records))
    }

    package func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        try lookup.read { session throws(LogFault) in try session.bounds(of: place) }
    }

    package func makeReader(
        from positions: [TopicPartition: Int64]
    ) throws(LogFault) -> any LogReader {
        SQLiteReader(self, try ReadSession(path: path, layout), Follower(positions))
    }

    package func makeWorker(lane: Int) throws(LogFault) -> any LogWorker {
        let session = try ReadSession(path: path, layout)
        do throws(LogFault) {
            let member = try settling.withLock { _ throws(LogFault) in try join(lane: lane) }
            return SQLiteWorker(self, session, member)
        } catch {
            session.close()
            throw error
        }
    }

    package func makeExclusiveAppender(
        name: String
    ) throws(LogFault) -> any ExclusiveAppender {
        let bytes = Array(name.utf8)
        guard case .named(let holder) = try writer.perform(.takeName(bytes)) else {
            throw .nameTaken(name, at: place)
        }
        return SQLiteAppender(self, name: name, holder: holder)
    }

    /// Appends as the holder of a name.
    func append(_ records: [OutgoingRecord], as name: String, holder: Int64) throws(LogFault) {
        for record in records { record.checkFit(partitions: partitions) }
        let work = WriteWork.appendAs(Array(name.utf8), holder: holder, records)
        guard case .done = try writer.perform(work) else { throw .nameTaken(name, at: place) }
    }

    package func maintain() throws(LogFault) -> Bool {
        if case .maintained(let hasMore) = try writer.perform(.maintain) { return hasMore }
        return false
    }

    package func interrupt() {
        shared.withLock { $0.isInterrupted = true }
    }

    package func close() {
        lookup.withLock { $0.close() }
        writer.close()
    }

    private func join(lane: Int) throws(LogFault) -> WorkerGroup.MemberID {
        let member = shared.withLock { $0.group.join(lane: lane) }
        do throws(LogFault) {
            try makeGeneration(newcomer: member)
        } catch {
            shared.withLock { $0.group.remove(member) }
            throw error
        }
        return member
    }

    /// Makes a new generation, for what a member of this process has left.
    func settle() throws(LogFault) {
        try settling.withLock { _ throws(LogFault) in try makeGeneration(newcomer: nil) }
    }

    private func makeGeneration(newcomer: WorkerGroup.MemberID?) throws(LogFault) {
        let owner = shared.read { $0.owner }
        let work = WriteWork.takeOver(owner: owner, isNewcomer: newcomer != nil)
        guard case .assigned(let generation, let newOwner) = try writer.perform(work) else {
            throw fenced("join")
        }
        shared.withLock { state in
            state.isUnsettled = false
            state.generation = max(state.generation, generation)
            // The members of a set that another process had fenced go with it.
            if let newcomer, newOwner > state.owner {
                state.owner = newOwner
                state.group.removeAll(but: newcomer)
            }
        }
    }

    func commit(
        _ member: WorkerGroup.MemberID, _ outputs: [OutgoingRecord],
        positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        for record in outputs { record.checkFit(partitions: partitions) }
        let owner = shared.read { $0.owner }
        let work = WriteWork.commit(member, owner: owner, outputs, positions: positions)
        guard case .committed(let ends) = try writer.perform(work) else { throw fenced("commit") }
        return ends
    }

    func fenced(_ operation: String) -> LogFault {
        LogFault(
            operation, at: place, reason: "another evaluator has taken over",
            hint: "let one process only evaluate a file", remedy: .fenced)
    }

    private static func checkRequest(path: String, partitions: Int?) throws(LogFault) {
        if let partitions, !(1...Layout.partitionsMax).contains(partitions) {
            throw LogFault(
                "open", at: "sqlite:\(path)", reason: "\(partitions) partitions were asked for",
                hint: "a log has 1 to \(Layout.partitionsMax)", remedy: .stop)
        }
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let directory = String(path[..<slash])
        guard unsafe access(directory, F_OK) == 0 else {
            throw LogFault(
                "open", at: "sqlite:\(path)", reason: "there is no directory \(directory)",
                hint: "create it: mkdir -p \(directory)", remedy: .stop)
        }
    }

    private static func checkClock(_ connection: Connection, now: Int64) throws(LogFault) {
        let ahead = try connection.number("SELECT latest FROM log") - now
        guard ahead > clockBehindMaxMilliseconds else { return }
        throw LogFault(
            "open", at: "sqlite:\(connection.path)",
            reason: "this machine's clock is \(ahead / 1_000) s behind the last record",
            hint: "set the clock; append times never go back", remedy: .stop)
    }
}
