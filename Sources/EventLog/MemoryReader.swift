// Readers, workers and exclusive appenders of the memory log.

import Runtime

/// Follows partitions of a memory log.
final class MemoryReader: LogReader {
    private let log: MemoryLog
    private var follower: Follower

    init(_ log: MemoryLog, _ follower: Follower) {
        self.log = log
        self.follower = follower
    }

    var positions: [TopicPartition: Int64] { follower.positions }

    var held: Set<TopicPartition> {
        get { follower.held }
        set { follower.held = newValue }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.poll(&follower, into: batch, waitMilliseconds: waitMilliseconds, member: nil)
    }

    func close() {}
}

/// A member of the group of a memory log.
final class MemoryWorker: LogWorker {
    private(set) var generation: Int64
    private let log: MemoryLog
    private let member: WorkerGroup.MemberID
    private var follower = Follower()
    private var commits = 0

    init(_ log: MemoryLog, member: WorkerGroup.MemberID, generation: Int64) {
        self.log = log
        self.member = member
        self.generation = generation
    }

    var held: Set<TopicPartition> {
        get { follower.held }
        set { follower.held = newValue }
    }

    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange? {
        var change = nextChange()
        if change == nil, waitMilliseconds > 0 {
            _ = log.shared.wait(milliseconds: waitMilliseconds) { state in
                state.isInterrupted || state.group.changeWaits(for: self.member) ? true : nil
            }
            change = nextChange()
        }
        guard log.shared.read({ $0.group.isMember(member) }) else {
            throw MemoryWorker.fenced("join")
        }
        if case .revoked(let partitions) = change {
            for partition in partitions {
                for topic in Topic.inputs { follower.leave(TopicPartition(topic, partition)) }
            }
        }
        return change
    }

    func committedPositions(partition: Int) -> [TopicPartition: Int64] {
        log.shared.withLock { state in
            state.committed.filter { $0.key.partition == partition }
        }
    }

    func start(partition: Int, at positions: [TopicPartition: Int64]) {
        for topic in Topic.inputs {
            let place = TopicPartition(topic, partition)
            follower.follow(place, from: positions[place] ?? log.bounds(of: place).lowerBound)
        }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try log.poll(&follower, into: batch, waitMilliseconds: waitMilliseconds, member: member)
    }

    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        for record in outputs { record.checkFit(partitions: log.partitions) }
        let number = commits + 1
        let ends = try log.shared.withLock { state throws(LogFault) in
            guard state.group.mayCommit(member, outputs, positions: positions) else {
                throw MemoryWorker.fenced("commit")
            }
            if let last = state.lastCommits[member], last.number == number { return last.ends }
            let fault = state.commitFaults.isEmpty ? nil : state.commitFaults.removeFirst()
            if fault == .before { throw MemoryLog.injectedFault("commit") }
            let ends = state.commit(outputs, positions: positions, now: log.clock.now())
            state.lastCommits[member] = .init(number: number, ends: ends)
            if fault == .after { throw MemoryLog.injectedFault("commit") }
            return ends
        }
        commits = number
        return ends
    }

    func close() {
        log.shared.withLock { state in
            guard state.group.isMember(member) else { return }
            state.generation += 1
            state.group.remove(member)
            state.lastCommits[member] = nil
        }
    }

    private func nextChange() -> AssignmentChange? {
        log.shared.withLock { state in
            let change = state.group.nextChange(for: member)
            if change != nil { generation = state.generation }
            return change
        }
    }

    private static func fenced(_ operation: String) -> LogFault {
        LogFault(
            operation, at: "memory", reason: "another member has these partitions", remedy: .fenced)
    }
}

/// The holder of a name, until somebody else takes it.
final class MemoryAppender: ExclusiveAppender {
    private let log: MemoryLog
    private let name: String
    private let number: Int

    init(_ log: MemoryLog, name: String, number: Int) {
        self.log = log
        self.name = name
        self.number = number
    }

    func append(_ records: [OutgoingRecord]) throws(LogFault) {
        for record in records { record.checkFit(partitions: log.partitions) }
        try log.shared.withLock { state throws(LogFault) in
            guard state.appenders[name] == number else {
                throw LogFault.nameTaken(name, at: log.place)
            }
            try log.append(records, &state)
        }
    }

    func close() {}
}

extension MemoryLog {
    fileprivate func poll(
        _ follower: inout Follower, into batch: LogBatch, waitMilliseconds: Int,
        member: WorkerGroup.MemberID?
    ) throws(LogFault) -> PollOutcome {
        batch.reset()
        let end = LogClock.steady.now() + Int64(waitMilliseconds)
        while true {
            var version = 0
            let outcome = try shared.withLock { state throws(LogFault) in
                version = state.version
                let asOf = state.time(clock.now())
                let ended = try follower.fill(
                    batch, bounds: { state.bounds(of: $0) },
                    scan: { place, range, limit in
                        state.scan(place, range, into: batch, limit: limit)
                    })
                return PollOutcome(
                    ended: ended, asOf: asOf,
                    assignmentWaits: member.map { state.group.changeWaits(for: $0) } ?? false)
            }
            let remaining = Int(end - LogClock.steady.now())
            if !batch.isEmpty || outcome.assignmentWaits || remaining <= 0 { return outcome }
            let isInterrupted = shared.wait(milliseconds: remaining) { state -> Bool? in
                if state.isInterrupted { return true }
                let hasChanged = member.map { state.group.changeWaits(for: $0) } ?? false
                return hasChanged || state.version != version ? false : nil
            }
            if isInterrupted ?? true { return outcome }
        }
    }
}
