// One partition of the four inputs: their merge by append time, the clock, and the open epoch.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Counts what the inputs of a partition bring, in order of append time, as far as it is certain
/// that nothing earlier waits. One thread owns it.
final class PartitionGroup {
    /// The most dead letters of one epoch; what is beyond is counted only.
    static let deadLettersMax = 1_000
    /// So many events of one input in a row are worth looking ahead without those of others.
    static let countedInPlace = 128

    let partition: Int
    var evaluator: Evaluator
    private(set) var queues: [InputQueue]
    /// For each input whether its end was seen at `asOf`.
    private var ended: [Bool]
    private var asOf = Int64.min

    // The open epoch.
    var decisions = Decisions()
    private(set) var letters: [DeadLetter] = []
    /// Of records that have been read but not counted, by input: they belong to a later epoch.
    private var waitingLetters: [[DeadLetter]]
    private(set) var rejected: [Rejection: Int64] = [:]
    /// Apps that were refused in this epoch, by hash: each has one letter, whatever it sends.
    private var refusedApps: Set<UInt64> = []
    /// Records counted since the last commit, and the last of them.
    private(set) var recordsCounted = 0
    private var lastCounted: (append: Int64, input: Int)?

    // The last committed epoch.
    /// As it is in the log, nil before the first.
    var lastEpoch: EpochRecord?
    var number: Int64
    var snapshots: [EpochRecord.SnapshotPointer]
    var throttleEnd: Int64

    /// The offset of `control` up to which people's decisions are in force.
    var controlEnd: Int64

    private var merged = EventBatch(capacity: InputQueue.countedEvents)

    /// A group that goes on after an epoch; number 0: none yet.
    init(
        partition: Int, evaluator: consuming Evaluator, positions: [Int64], controlEnd: Int64,
        number: Int64, snapshots: [EpochRecord.SnapshotPointer], throttleEnd: Int64
    ) {
        precondition(positions.count == Topic.inputs.count, "one position an input")
        self.partition = partition
        self.evaluator = evaluator
        self.number = number
        self.snapshots = snapshots
        self.throttleEnd = throttleEnd
        self.controlEnd = controlEnd
        queues = positions.map { InputQueue(position: $0) }
        ended = positions.map { _ in false }
        waitingLetters = positions.map { _ in [] }
    }

    /// C as the log has it.
    private var committedClock: Int64 { lastEpoch?.clock ?? .min }
    /// Whether the clock has begun to move.
    var hasClock: Bool { evaluator.clock > .min }
    /// Whether the clock has begun to move since the last commit, and not by an event: overrides
    /// begin at the full second after that, so an epoch tells it. A replay moves the clock by
    /// events and epochs alone.
    private(set) var hasBegun = false
    /// Whether decisions of people are in force that no epoch tells of. They may have made an app
    /// known, even if they are taken back at once: before others are taken over, and before another
    /// lane goes on, an epoch tells their end.
    private var hasAdopted: Bool { hasClock && controlEnd != lastEpoch?.offsets.control ?? 0 }
    /// Whether anything would be lost without a commit.
    var isOpen: Bool {
        recordsCounted > 0 || !decisions.isEmpty || !letters.isEmpty || hasAdopted
    }
    /// Whether anything has changed since the last commit, be it the clock alone.
    var hasMoved: Bool { isOpen || evaluator.clock > committedClock }
    /// Whether the last poll has read all inputs to their ends.
    var isAtEnd: Bool { ended.allSatisfy { $0 } }
    /// Whether the clock has passed a tick since the last commit.
    func hasPassedTick(of milliseconds: Int64) -> Bool {
        evaluator.clock / milliseconds > committedClock / milliseconds
    }
    /// Whether the open epoch must end before what waits, because the clock or the order of inputs
    /// has passed it already. A replay moves the clock by an epoch's records, sorted by append time
    /// and input: it shall count these, too, where they were counted.
    var mustCut: Bool {
        queues.indices.contains { input in
            guard let append = queues[input].nextAppend else { return false }
            if append < evaluator.clock { return hasMoved }
            guard let last = lastCounted else { return false }
            return append == last.append && input < last.input
        }
    }
    /// How long the first record that waits has to wait for an answer that is younger, at least;
    /// nil when none waits.
    var patienceMilliseconds: Int64? {
        queues.compactMap(\.nextAppend).min().map { max(0, $0 - asOf) }
    }
    /// The inputs that are not to be read further: those ahead of the others with enough to count,
    /// so that little waits, and that in the cache; and those of which too much waits.
    var heldInputs: [TopicPartition] {
        let limit = certainLimit
        return queues.indices.filter { input in
            queues[input].isFull
                || queues[input].lastAppend > limit
                    && queues[input].eventsWaiting >= InputQueue.countedEvents
        }.map { TopicPartition(Topic.inputs[$0], partition) }
    }
    /// Events read, but not yet counted.
    var eventsWaiting: Int { queues.reduce(0) { $0 + $1.eventsWaiting } }
    /// Where the counting stands, for the commit.
    var positions: [TopicPartition: Int64] {
        var positions: [TopicPartition: Int64] = [:]
        for (topic, queue) in zip(Topic.inputs, queues) {
            positions[TopicPartition(topic, partition)] = queue.position
        }
        return positions
    }

    // MARK: Reading

    /// Takes records of one of the inputs.
    func take(
        _ records: ArraySlice<LogRecord>, as type: EventType, with decoder: EventDecoder
    ) {
        let input = Int(type.rawValue)
        queues[input].take(records, as: type, with: decoder) { record, events in
            for event in events { setAside(event, of: record, input) }
        }
    }

    private func setAside(_ event: RejectedEvent, of record: LogRecord, _ input: Int) {
        rejected[event.reason, default: 0] += 1
        guard waitingLetters[input].count < Self.deadLettersMax else { return }
        unsafe waitingLetters[input].append(
            DeadLetter(
                stage: .evaluate, topic: record.topic.name, partition: partition,
                offset: record.offset, append: record.append, app: AppID(bytes: record.key),
                event: event, value: record.value))
    }

    /// Notes which inputs a poll has read to their ends.
    func note(_ outcome: PollOutcome) {
        for (input, topic) in Topic.inputs.enumerated() {
            ended[input] = outcome.ended.contains(TopicPartition(topic, partition))
        }
        asOf = outcome.asOf
    }

    // MARK: Counting

    /// Counts what can be counted, deciding at the ticks that are passed.
    func count() {
        let limit = certainLimit
        // So many records of one millisecond that they cannot wait for the last of them.
        let isStuck = queues.contains { $0.isFull }
        while let input = nextInput(),
            let portion = queues[input].portion(
                upTo: isStuck || limit == .min ? limit : limit - 1, before: rivalAppend(of: input))
        {
            recordsCounted += portion.records
            lastCounted = (portion.lastAppend, input)
            count(portion, of: input)
        }
        countMerged()
        for input in queues.indices where !waitingLetters[input].isEmpty { sendLetters(of: input) }
        if ended.contains(false) { advance(to: limit) }
    }

    /// Before this append time nothing is still to come. Of an input that has more, anything from
    /// its last append time on may be; of one that was read to its end, anything from the time on
    /// when that was asked. So a record that is younger than an answer waits for the next.
    private var certainLimit: Int64 {
        var limit = Int64.max
        for (queue, isEnded) in zip(queues, ended) {
            limit = min(limit, isEnded ? max(asOf, queue.lastAppend) : queue.lastAppend)
        }
        return limit
    }

    private func sendLetters(of input: Int) {
        let counted = waitingLetters[input].prefix { $0.offset < queues[input].position }
        letters += counted.prefix(max(0, Self.deadLettersMax - letters.count))
        waitingLetters[input].removeFirst(counted.count)
    }

    /// Lets the clock follow the wall clock at a distance, if nothing waits in any input.
    func followWallClock(idleLag: Int64) {
        guard isAtEnd, queues.allSatisfy({ $0.isEmpty }) else { return }
        advance(to: asOf - idleLag)
    }

    private func advance(to time: Int64) {
        let hadClock = hasClock
        evaluator.advance(to: time, into: &decisions)
        if !hadClock, hasClock { hasBegun = true }
    }

    /// Counts an epoch of the past: what each input has before its end offset, then the clock.
    /// Returns the input that has to be read further before it can go on, nil when it is done.
    func recount(upTo ends: [Int64], clock: Int64) -> Int? {
        while true {
            let lacking = queues.indices.first { input in
                queues[input].isEmpty && queues[input].position < ends[input]
            }
            if let lacking { return lacking }
            guard let input = nextInput(below: ends) else { break }
            let portion = queues[input].portion(
                upTo: .max, before: rivalAppend(of: input, below: ends), end: ends[input])
            guard let portion else {
                preconditionFailure("the input that comes first has a record to count")
            }
            count(portion, of: input)
        }
        countMerged()
        evaluator.advance(to: clock, into: &decisions)
        return nil
    }

    /// The input whose next record comes first; of equal append times the first topic's.
    private func nextInput(below ends: [Int64]? = nil) -> Int? {
        var first: Int?
        for input in queues.indices {
            guard let append = queues[input].nextAppend else { continue }
            if let ends, queues[input].nextEnd > ends[input] { continue }
            if let best = first, let bestAppend = queues[best].nextAppend, bestAppend <= append {
                continue
            }
            first = input
        }
        return first
    }

    /// From which append time on a record of this input has to wait for another input's next one.
    /// One that lies beyond the epoch's end is no rival, however early it is.
    private func rivalAppend(of input: Int, below ends: [Int64]? = nil) -> Int64 {
        var rival = Int64.max
        for other in queues.indices where other != input {
            guard let append = queues[other].nextAppend else { continue }
            if let ends, queues[other].nextEnd > ends[other] { continue }
            // Of equal append times the first topic's comes first.
            rival = min(rival, other < input ? append : append + 1)
        }
        return rival
    }

    /// Counts what comes next: many events where they lie, few with those of other inputs.
    private func count(_ portion: InputQueue.Portion, of input: Int) {
        if portion.events.count >= Self.countedInPlace {
            countMerged()
            count(portion.events, of: queues[input].batch)
        } else {
            merged.append(portion.events, of: queues[input].batch)
            if merged.events.count >= InputQueue.countedEvents { countMerged() }
        }
        queues[input].drop(portion)
    }

    private func countMerged() {
        guard !merged.events.isEmpty else { return }
        count(merged.events.indices, of: merged)
        merged.removeAll()
    }

    private func count(_ events: Range<Int>, of batch: EventBatch) {
        evaluator.apply(batch, events, into: &decisions)
        for refused in decisions.refused { refuse(batch, refused.event, refused.reason) }
        decisions.refused.removeAll(keepingCapacity: true)
    }

    private func refuse(_ batch: EventBatch, _ place: Int, _ reason: Rejection) {
        let event = batch.events[place]
        rejected[reason, default: 0] += 1
        guard letters.count < Self.deadLettersMax, refusedApps.insert(event.appHash).inserted else {
            return
        }
        let first = Int(event.nameOffset)
        let name = Array(batch.names[first..<first + Int(event.nameLength)])
        unsafe name.withUnsafeBytes { bytes in
            unsafe letters.append(
                DeadLetter(
                    stage: .evaluate, topic: "app", partition: partition, offset: -1,
                    append: event.append, app: AppID(bytes: bytes),
                    event: RejectedEvent(index: nil, reason: reason), value: bytes))
        }
    }

    // MARK: Committing

    /// Closes the epoch that has just been committed.
    func closeEpoch() {
        number += 1
        dropOutputs()
    }

    /// Forgets what the epoch would publish: it is in the log.
    func dropOutputs() {
        recordsCounted = 0
        hasBegun = false
        lastCounted = nil
        decisions.removeAll()
        letters.removeAll(keepingCapacity: true)
        refusedApps.removeAll(keepingCapacity: true)
    }

    /// Forgets what was read beyond the last counted record: it will be read again.
    func dropUncounted() {
        queues = queues.map { InputQueue(position: $0.position) }
        ended = queues.map { _ in false }
        waitingLetters = queues.map { _ in [] }
        dropOutputs()
        rejected.removeAll()
    }

    /// Hands over the counts of rejections since the last call, for metrics.
    func takeRejected() -> [Rejection: Int64] {
        defer { rejected.removeAll(keepingCapacity: true) }
        return rejected
    }
}
