// A worker of a Kafka log: a member of the group, a fetcher of what it owns, and a transactional
// producer. The group says whose a partition is; the other two obey.

import EventLog
import Glibc

/// One lane's member of the group of evaluators.
final class KafkaWorker: LogWorker {
    /// For what is asked of the coordinator outside commits.
    static let questionMilliseconds = 5_000
    /// Between two looks at whether the log wants waits to end.
    static let sliceMilliseconds = 50
    /// A few heartbeats.
    static let verdictMilliseconds: Int64 = 3_000
    /// So many sessions may pass until a member that is none is struck off, rebalances and all.
    static let phantomSessions = 2
    /// Between two looks at who is in the group.
    static let rollCallMilliseconds = 250
    /// For closing what commits have left open, and between two tries while nothing else is to do.
    static let clearMilliseconds: Int64 = 2_000

    private let settings: KafkaSettings
    private let inquiry: ClusterInquiry
    private let interruption: Interruption
    private let partitions: Int
    private let lane: Int
    private let member: GroupMember
    private let fetcher: PartitionFetcher
    private let producer: TransactionalProducer

    private(set) var generation: Int64 = 0
    private var owned: Set<Int> = []
    /// Seen while polling records; for the next `pollAssignment`.
    private var waiting: GroupMember.Change?
    /// Told as revoked: given up at the next call.
    private var isLeaving = false
    /// Another member may have the partitions already: nothing can be committed any more.
    private var isLost = false
    /// Accepted, but not yet told: the generation is still to be found.
    private var granted: Set<Int>?
    private var nextClearing: Int64 = 0

    init(
        _ settings: KafkaSettings, _ inquiry: ClusterInquiry, _ interruption: Interruption,
        partitions: Int, lane: Int, _ leftovers: LeftoverStore
    ) throws(LogFault) {
        self.settings = settings
        self.inquiry = inquiry
        self.interruption = interruption
        self.partitions = partitions
        self.lane = lane
        producer = TransactionalProducer(settings, lane: lane, leftovers)
        do throws(LogFault) {
            try producer.start()
            fetcher = try PartitionFetcher(
                settings, inquiry, partitionCount: partitions * Topic.inputs.count)
            member = try GroupMember(settings, lane: lane, wakeUp: fetcher.wakeUp)
        } catch {
            // Hands on what is open: brokers that are away fail a worker's start first of all.
            producer.close()
            throw error
        }
        interruption.add(fetcher.wakeUp)
    }

    deinit { interruption.remove(fetcher.wakeUp) }

    var held: Set<TopicPartition> {
        get { fetcher.held }
        set { fetcher.held = newValue }
    }

    /// How often a producer was replaced, and a partition that stood still fetched anew.
    var repairs: (producers: Int, fetches: Int) { (producer.replacements, fetcher.restarts) }

    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange? {
        if isLeaving { try giveUp() }
        clearIdly()
        let deadline = LogClock.steady.now() + Int64(waitMilliseconds)
        while true {
            if let granted { return try assigned(granted) }
            let left = max(0, Int(deadline - LogClock.steady.now()))
            let slice = min(left, KafkaWorker.sliceMilliseconds)
            guard let change = try nextChange(waitMilliseconds: slice) else {
                if left == 0 || interruption.isRaised { return nil }
                continue
            }
            switch change {
            case .assign(let given):
                let groups = try partitionGroups(given)
                try member.accept()
                granted = groups
            case .revoke(let isLost):
                isLeaving = true
                self.isLost = isLost
                guard !owned.isEmpty else {
                    try giveUp()
                    continue
                }
                fetcher.leaveAll()
                return .revoked(owned.sorted())
            }
        }
    }

    func committedPositions(partition: Int) throws(LogFault) -> [TopicPartition: Int64] {
        // Restoring takes its time, and counts as a sign of life.
        _ = changeWaits()
        // Nothing is read beyond what this lane itself has left open.
        try producer.clearLeftovers(
            member: member, deadline: LogClock.steady.now() + KafkaWorker.clearMilliseconds)
        return try member.committed(
            Topic.inputs.map { TopicPartition($0, partition) },
            timeoutMilliseconds: KafkaWorker.questionMilliseconds
        ).mapValues(\.offset)
    }

    func start(partition: Int, at positions: [TopicPartition: Int64]) throws(LogFault) {
        precondition(owned.contains(partition), "a partition is started by its owner")
        _ = changeWaits()
        // First what may fail, so that a call that is made again finds nothing begun.
        var begins: [(place: TopicPartition, position: Int64)] = []
        for topic in Topic.inputs {
            let place = TopicPartition(topic, partition)
            let position =
                if let position = positions[place] {
                    position
                } else {
                    try inquiry.bounds(
                        of: place, timeoutMilliseconds: KafkaWorker.questionMilliseconds
                    ).lowerBound
                }
            begins.append((place, position))
        }
        for begin in begins { try fetcher.follow(begin.place, from: begin.position) }
    }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        var outcome = try fetcher.poll(into: batch, waitMilliseconds: waitMilliseconds) {
            interruption.isRaised || changeWaits()
        }
        outcome.assignmentWaits = changeWaits()
        return outcome
    }

    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        let isOwned =
            positions.keys.allSatisfy { owned.contains($0.partition) }
            && outputs.allSatisfy { !$0.topic.isPartitioned || owned.contains($0.partition) }
        guard isOwned, !owned.isEmpty else {
            throw LogFault(
                "commit", at: settings.place, reason: "the partitions are not this member's",
                remedy: .fenced)
        }
        if hasLost() { throw lostFault }
        var fence = positions
        // The group's fence hangs on offsets: without any, one that nobody reads does it.
        if fence.isEmpty, let partition = owned.min() {
            fence[TopicPartition(.epoch, partition)] = 0
        }
        do {
            return try producer.commit(
                outputs, positions: fence, generation: generation, member: member)
        } catch {
            guard error.remedy == .fenced else { throw error }
            throw proven(verdict(error))
        }
    }

    private var lostFault: LogFault {
        LogFault(
            "commit", at: settings.place, reason: "the group has given this member up",
            hint: "this process or the brokers were silent for too long", remedy: .rejoin)
    }

    /// Whether the partitions may be another member's already.
    private func hasLost() -> Bool {
        _ = changeWaits()
        if case .revoke(isLost: true) = waiting { isLost = true }
        return isLost
    }

    /// A member without a name, since it has lost its session, is refused as if another one had its
    /// place. Its next heartbeat tells which of both it is.
    private func verdict(_ fault: LogFault) -> LogFault {
        let deadline = LogClock.steady.now() + KafkaWorker.verdictMilliseconds
        while LogClock.steady.now() < deadline {
            fetcher.wakeUp.reset()
            if hasLost() { return lostFault }
            if let failure { return failure }
            fetcher.wakeUp.wait(milliseconds: KafkaWorker.sliceMilliseconds)
        }
        return fault
    }

    /// Tells whether somebody has our place, or nobody: when the answer to a join is lost with its
    /// coordinator, the group has us under a name that we never heard, and refuses the one we know
    /// as if another process had come in our place. That one would stay; a phantom's session ends.
    private func proven(_ fault: LogFault) -> LogFault {
        guard fault.remedy == .fenced, !isReplaced else { return fault }
        let patience = KafkaWorker.phantomSessions * GroupMember.sessionMilliseconds(settings)
        let deadline = LogClock.steady.now() + Int64(patience)
        let rollCall = try? RollCall(settings)
        defer { rollCall?.close() }
        while LogClock.steady.now() < deadline, !interruption.isRaised {
            let isTaken = rollCall?.hasMember(
                named: settings.laneName(lane), of: settings.group,
                waitMilliseconds: KafkaWorker.rollCallMilliseconds)
            if isTaken == false { return lostFault }
            usleep(UInt32(KafkaWorker.rollCallMilliseconds) * 1_000)
        }
        // Whoever stops has no use for the answer.
        if interruption.isRaised { return lostFault }
        isReplaced = true
        return fault
    }

    func close() {
        producer.close()
        fetcher.close()
        member.close()
    }

    private func changeWaits() -> Bool {
        if waiting == nil {
            do {
                waiting = try member.nextChange(waitMilliseconds: 0)
            } catch {
                failure = error
            }
        }
        return waiting != nil || failure != nil || granted != nil
    }

    /// Heard while polling records; thrown by the next `pollAssignment`.
    private var failure: LogFault?
    /// Another process has our place, and keeps it.
    private var isReplaced = false

    private func nextChange(waitMilliseconds: Int) throws(LogFault) -> GroupMember.Change? {
        if let fault = failure {
            failure = nil
            throw proven(fault)
        }
        if let change = waiting {
            waiting = nil
            return change
        }
        do {
            return try member.nextChange(waitMilliseconds: waitMilliseconds)
        } catch {
            throw proven(error)
        }
    }

    /// Closes what this lane has left open in partitions that are others' by now: they cannot read
    /// beyond it. Lanes that commit do it before they commit.
    private func clearIdly() {
        let now = LogClock.steady.now()
        guard owned.isEmpty, producer.mayClearLeftovers, now >= nextClearing else { return }
        // Without a leader it cannot be done yet.
        try? producer.clearLeftovers(member: member, deadline: now + KafkaWorker.clearMilliseconds)
        nextClearing = LogClock.steady.now() + KafkaWorker.clearMilliseconds
    }

    private func giveUp() throws(LogFault) {
        // Whoever restores the partitions must find the outcome of a commit in doubt settled.
        try producer.abandon()
        fetcher.leaveAll()
        try member.giveUp()
        owned = []
        isLeaving = false
        isLost = false
    }

    /// Finds the generation: above that of every commit of these partitions so far, which the
    /// group's own is not once the group was empty for long or a member came back to its place.
    private func assigned(_ groups: Set<Int>) throws(LogFault) -> AssignmentChange? {
        let places = groups.flatMap { group in
            Topic.inputs.map { TopicPartition($0, group) }
        }
        let committed = try member.committed(
            places, timeoutMilliseconds: KafkaWorker.questionMilliseconds)
        let before = committed.values.compactMap { CommitNote($0.note)?.generation }.max() ?? 0
        generation = max(generation, member.generation ?? 0, before + 1)
        granted = nil
        owned = groups
        return groups.isEmpty ? nil : .assigned(groups.sorted())
    }

    /// The same partitions of all inputs, or none: a group is evaluated as a whole.
    private func partitionGroups(_ given: [String: Set<Int>]) throws(LogFault) -> Set<Int> {
        let sets = Topic.inputs.map { given[settings.name(of: $0), default: []] }
        let first = sets[0]
        for (topic, set) in zip(Topic.inputs, sets) where set != first {
            throw LogFault(
                "accept partitions", at: settings.place(of: topic),
                reason: "assigned \(set.sorted()) of \(topic.name), but \(first.sorted()) of "
                    + "\(Topic.inputs[0].name): the inputs no longer have equal partitions",
                hint: "compare the topics' partition counts with adbrake topics check",
                remedy: .stop)
        }
        if let last = first.max(), last >= partitions {
            throw LogFault(
                "accept partitions", at: settings.place(of: Topic.inputs[0]),
                reason: "assigned partition \(last), but there were \(partitions) at start",
                hint: "the number of partitions is fixed for life: keys would move", remedy: .stop)
        }
        return first
    }
}
