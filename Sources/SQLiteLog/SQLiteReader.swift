// Readers, workers and exclusive appenders of the SQLite log.
import EventLog
import Runtime

/// Follows partitions of a file.
final class SQLiteReader: LogReader {
    private let log: SQLiteLog
    private let session: ReadSession
    private var follower: Follower

    init(_ log: SQLiteLog, _ session: ReadSession, _ follower: Follower) {
        self.log = log
        self.session = session
        self.follower = follower
    }

    var positions: [TopicPartition: Int64] { follower.positions }

    var held: Set<TopicPartition> {
        get { follower.held }
        set { follower.held = newValue }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.poll(
            session, &follower, into: batch, waitMilliseconds: waitMilliseconds, member: nil)
    }

    func close() {
        session.close()
    }
}

/// A lane of this process's evaluator.
final class SQLiteWorker: LogWorker {
    private(set) var generation: Int64
    private let log: SQLiteLog
    private let session: ReadSession
    private let member: WorkerGroup.MemberID
    private var follower = Follower()

    init(_ log: SQLiteLog, _ session: ReadSession, _ member: WorkerGroup.MemberID) {
        self.log = log
        self.session = session
        self.member = member
        generation = log.shared.read { $0.generation }
    }

    var held: Set<TopicPartition> {
        get { follower.held }
        set { follower.held = newValue }
    }

    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange? {
        var change = try nextChange()
        if change == nil, waitMilliseconds > 0 {
            _ = log.shared.wait(milliseconds: waitMilliseconds) { state in
                state.isInterrupted || state.group.changeWaits(for: self.member) ? true : nil
            }
            change = try nextChange()
        }
        if case .revoked(let partitions) = change {
            for partition in partitions {
                for topic in Topic.inputs { follower.leave(TopicPartition(topic, partition)) }
            }
        }
        return change
    }

    func committedPositions(partition: Int) throws(LogFault) -> [TopicPartition: Int64] {
        var positions: [TopicPartition: Int64] = [:]
        for topic in Topic.inputs {
            let place = TopicPartition(topic, partition)
            positions[place] = try session.position(of: place)
        }
        return positions
    }

    func start(partition: Int, at positions: [TopicPartition: Int64]) throws(LogFault) {
        for topic in Topic.inputs {
            let place = TopicPartition(topic, partition)
            let low = try session.bounds(of: place).lowerBound
            follower.follow(place, from: positions[place] ?? low)
        }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.poll(
            session, &follower, into: batch, waitMilliseconds: waitMilliseconds, member: member)
    }

    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        try log.commit(member, outputs, positions: positions)
    }

    func close() {
        log.shared.withLock { state in
            guard state.group.isMember(member) else { return }
            state.group.remove(member)
            state.isUnsettled = true
        }
        session.close()
    }

    private func nextChange() throws(LogFault) -> AssignmentChange? {
        while true {
            let (isMember, isSettled, change) = log.shared.withLock { state in
                guard state.group.isMember(member), !state.isUnsettled else {
                    return (state.group.isMember(member), false, nil as AssignmentChange?)
                }
                let change = state.group.nextChange(for: member)
                if change != nil { generation = state.generation }
                return (true, true, change)
            }
            guard isMember else { throw log.fenced("join") }
            if isSettled { return change }
            // What somebody has left is given out under a new generation only.
            try log.settle()
        }
    }
}

/// The holder of a name in the file, until somebody else takes it.
final class SQLiteAppender: ExclusiveAppender {
    private let log: SQLiteLog
    private let name: String
    private let holder: Int64

    init(_ log: SQLiteLog, name: String, holder: Int64) {
        self.log = log
        self.name = name
        self.holder = holder
    }

    func append(_ records: [OutgoingRecord]) throws(LogFault) {
        try log.append(records, as: name, holder: holder)
    }

    func close() {}
}

extension SQLiteLog {
    /// How often a waiting reader looks for what other processes have written.
    private static let lookMilliseconds = 50

    fileprivate func poll(
        _ session: ReadSession, _ follower: inout Follower, into batch: LogBatch,
        waitMilliseconds: Int, member: WorkerGroup.MemberID?
    ) throws(LogFault) -> PollOutcome {
        batch.reset()
        let end = LogClock.steady.now() + Int64(waitMilliseconds)
        while true {
            let (version, asOf, assignmentWaits) = shared.withLock { state in
                (
                    state.version, state.asOf(clock.now()),
                    member.map { state.group.changeWaits(for: $0) } ?? false
                )
            }
            let dataVersion = try session.version()
            let ended = try session.fill(batch, &follower)
            if !batch.isEmpty || assignmentWaits
                || waitForChange(since: version, member: member, until: end, session, dataVersion)
            {
                return PollOutcome(ended: ended, asOf: asOf, assignmentWaits: assignmentWaits)
            }
        }
    }

    /// Waits until there may be something to read; true when there is no more waiting.
    private func waitForChange(
        since version: Int, member: WorkerGroup.MemberID?, until end: Int64,
        _ session: ReadSession, _ dataVersion: Int64
    ) -> Bool {
        while true {
            let remaining = Int(end - LogClock.steady.now())
            guard remaining > 0 else { return true }
            let isInterrupted = shared.wait(
                milliseconds: min(remaining, SQLiteLog.lookMilliseconds)
            ) { state -> Bool? in
                if state.isInterrupted { return true }
                let hasChanged = member.map { state.group.changeWaits(for: $0) } ?? false
                return hasChanged || state.version != version ? false : nil
            }
            if let isInterrupted { return isInterrupted }
            // A fault here shows at the next read, which says what it means.
            if (try? session.version()) != dataVersion { return false }
        }
    }
}
