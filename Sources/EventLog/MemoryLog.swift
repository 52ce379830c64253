// A log in memory, for simulations and tests: honest about partitions, offsets, append times,
// transactions and rebalance, and able to fail where a real log can.

import Runtime

/// A log that lives as long as its process, behind one lock.
package final class MemoryLog: EventLog {
    package let partitions: Int
    package let place = "memory"

    let shared: Monitor<MemoryLogState>
    let clock: LogClock

    /// With markers, each commit takes one more offset in every partition that it writes to, as
    /// Kafka's transactions do, so that nobody comes to count on offsets without gaps.
    package init(partitions: Int = 16, clock: LogClock = .wall, hasMarkers: Bool = true) {
        precondition(partitions > 0, "a log has at least one partition")
        self.partitions = partitions
        self.clock = clock
        shared = Monitor(MemoryLogState(partitions: partitions, hasMarkers: hasMarkers))
    }

    package func append(_ records: [OutgoingRecord]) throws(LogFault) {
        for record in records { record.checkFit(partitions: partitions) }
        try shared.withLock { state throws(LogFault) in
            try append(records, &state)
        }
    }

    /// As tests have it: with the next injected fault, if one waits.
    func append(_ records: [OutgoingRecord], _ state: inout MemoryLogState) throws(LogFault) {
        let fault = state.appendFaults.isEmpty ? nil : state.appendFaults.removeFirst()
        if fault != .before { state.append(records, now: clock.now()) }
        if fault != nil { throw MemoryLog.injectedFault("append") }
    }

    package func makeExclusiveAppender(name: String) -> any ExclusiveAppender {
        let number = shared.withLock { state in
            state.appenders[name, default: 0] += 1
            return state.appenders[name, default: 0]
        }
        return MemoryAppender(self, name: name, number: number)
    }

    package func bounds(of place: TopicPartition) -> Range<Int64> {
        shared.read { $0.bounds(of: place) }
    }

    package func makeReader(from positions: [TopicPartition: Int64]) -> any LogReader {
        MemoryReader(self, Follower(positions))
    }

    package func makeWorker(lane: Int) -> any LogWorker {
        let (member, generation) = shared.withLock { state in
            state.generation += 1
            return (state.group.join(lane: lane), state.generation)
        }
        return MemoryWorker(self, member: member, generation: generation)
    }

    package func maintain() -> Bool {
        shared.withLock { $0.maintain(now: clock.now()) }
        return false
    }

    package func interrupt() {
        shared.withLock { $0.isInterrupted = true }
    }

    package func close() {}

    static func injectedFault(_ operation: String) -> LogFault {
        LogFault(operation, at: "memory", reason: "injected", remedy: .retry)
    }
}

// What tests and simulations do to it.
extension MemoryLog {
    /// On which side of taking effect an operation fails: after it, the caller is in doubt.
    package enum FaultMoment: Sendable {
        case before
        case after
    }

    /// Lets the next commits fail, one for each moment; then they succeed again.
    package func failCommits(_ moments: [FaultMoment]) {
        shared.withLock { $0.commitFaults += moments }
    }

    /// Lets the next appends fail, one for each moment.
    package func failAppends(_ moments: [FaultMoment]) {
        shared.withLock { $0.appendFaults += moments }
    }

    /// Moves partitions between lanes, until somebody joins or leaves: lane to its partitions.
    package func rebalance(_ lanes: [Int: Set<Int>]) {
        shared.withLock { state in
            state.generation += 1
            state.group.assign(lanes)
        }
    }

    /// Takes a lane for dead, as Kafka does with a member that has been silent for too long: its
    /// partitions go to others, and what it still tries to commit is refused.
    package func expel(lane: Int) {
        shared.withLock { state in
            guard let member = state.group.member(lane: lane) else { return }
            state.generation += 1
            state.group.remove(member)
        }
    }
}
