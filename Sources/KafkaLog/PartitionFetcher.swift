// Follows partitions on behalf of one thread: fills batches fairly, proves that nothing waits, and
// notices a partition that stands still. Used by readers and workers alike.

import CRdKafka
import EventLog

/// Positions in partitions, and the session that fetches from there.
final class PartitionFetcher {
    /// The proof of an end: where the partitions ended at a time.
    private struct Proof {
        var ends: [TopicPartition: Int64]
        var asOf: Int64
    }

    /// A wait is never longer, whatever the queues may have forgotten to say.
    static let sliceMilliseconds = 200
    /// How often the ends are asked for: idle, and beside records that come in.
    static let proofIdleMilliseconds: Int64 = 20
    static let proofBusyMilliseconds: Int64 = 100
    /// For one question; after one without an answer the next has time.
    static let proofTimeoutMilliseconds = 250
    /// From a record's append time until readers can have it, with the clocks' differences.
    static let visibilityMilliseconds: Int64 = 100
    static let proofBackoffMilliseconds: Int64 = 1_000
    static let nudgeMilliseconds: Int64 = 20
    static let boundsMilliseconds = 5_000
    /// How long an end before one that was known has to be told until it is believed: a broker that
    /// has just become leader may know less than the one before it, for a moment.
    static let earlierEndMilliseconds: Int64 = 10_000

    private let settings: KafkaSettings
    private let inquiry: ClusterInquiry
    private let partitionCount: Int
    let wakeUp = WakeUp()
    private var session: FetchSession
    private var sources: ContiguousArray<FetchSource> = []
    private var turn = 0
    /// Partitions that polls leave out.
    var held: Set<TopicPartition> = []

    /// Found after records that are in the batch already; thrown by the next poll.
    private var postponed: LogFault?
    private var proof = Proof(ends: [:], asOf: 0)
    /// The latest end of each partition, and since when earlier ones are told.
    private var latestEnds: [TopicPartition: (end: Int64, disputedSince: Int64?)] = [:]
    /// When ends were last asked for, and when that may be done again after a failure.
    private var lastProof: Int64 = 0
    private var nextProof: Int64 = 0
    private var nextNudge: Int64 = 0
    private var silence = Silence()
    /// How often a partition that stood still was fetched anew.
    private(set) var restarts = 0

    init(
        _ settings: KafkaSettings, _ inquiry: ClusterInquiry, partitionCount: Int
    ) throws(LogFault) {
        self.settings = settings
        self.inquiry = inquiry
        self.partitionCount = partitionCount
        session = try FetchSession(settings, partitionCount: partitionCount, wakeUp: wakeUp)
    }

    deinit { close() }

    var positions: [TopicPartition: Int64] {
        Dictionary(uniqueKeysWithValues: sources.map { ($0.place, $0.position) })
    }

    func follow(_ place: TopicPartition, from offset: Int64) throws(LogFault) {
        precondition(!sources.contains { $0.place == place }, "a partition is followed once")
        do {
            sources.append(try session.open(place, at: offset))
        } catch {
            throw error.fault("read", at: settings.place(of: place))
        }
        lastProof = 0
    }

    func leaveAll() {
        for source in sources { source.close() }
        sources = []
        held = []
        proof.ends = [:]
        latestEnds = [:]
    }

    /// As `LogReader.poll`; ends early when `isInterrupted` says so.
    func poll(
        into batch: LogBatch, waitMilliseconds: Int, isInterrupted: () -> Bool
    ) throws(LogFault) -> PollOutcome {
        batch.reset()
        if let fault = postponed {
            postponed = nil
            throw fault
        }
        session.serveEvents()
        do {
            let isDrained = try fill(batch, wait: waitMilliseconds, isInterrupted)
            try prove(isIdle: batch.isEmpty, isDrained: isDrained)
        } catch {
            // Nobody looks at the batch of a poll that failed: its records come first.
            guard !batch.isEmpty else { throw error }
            postponed = error
        }
        var ended: Set<TopicPartition> = []
        for source in sources where !held.contains(source.place) {
            if let end = proof.ends[source.place], source.position >= end {
                ended.insert(source.place)
            }
        }
        return PollOutcome(ended: ended, asOf: proof.asOf)
    }

    func close() {
        leaveAll()
        session.close()
    }
}

// Taking records.
extension PartitionFetcher {
    /// Returns whether nothing was left to take.
    private func fill(
        _ batch: LogBatch, wait: Int, _ isInterrupted: () -> Bool
    ) throws(LogFault) -> Bool {
        // With nothing there a poll waits until the ends may be asked for again, at least: a caller
        // that needs a proof, and so does not want to wait, would turn in circles.
        let now = LogClock.steady.now()
        let untilProof = lastProof + PartitionFetcher.proofIdleMilliseconds - now
        let deadline =
            now
            + max(
                Int64(wait),
                min(
                    max(untilProof, nextProof - now), PartitionFetcher.proofIdleMilliseconds))
        var lent: ContiguousArray<LentMessage> = unsafe []
        defer { unsafe keep(lent, until: batch) }
        while true {
            wakeUp.reset()
            let waiting = sources.indices.compactMap { index in
                let source = sources[(turn + index) % sources.count]
                return source.isWaiting && !held.contains(source.place) ? source : nil
            }
            if !waiting.isEmpty {
                turn = (turn + 1) % sources.count
                let hasMore = try unsafe take(from: waiting, into: batch, &lent)
                if !batch.isEmpty || hasMore { return !hasMore }
                // Only ends were told: go on waiting for records.
            }
            let left = Int(deadline - LogClock.steady.now())
            if left <= 0 || isInterrupted() { return true }
            wakeUp.wait(milliseconds: min(left, PartitionFetcher.sliceMilliseconds))
        }
    }

    /// First an equal share for each, then whatever room is left for those that have more. Returns
    /// whether some still have.
    @unsafe
    private func take(
        from waiting: [FetchSource], into batch: LogBatch,
        _ lent: inout ContiguousArray<LentMessage>
    ) throws(LogFault) -> Bool {
        var rest = waiting
        for share in [batch.bytesMax / waiting.count, batch.bytesMax] {
            var more: [FetchSource] = []
            for source in rest {
                let limit = min(batch.bytes + share, batch.bytesMax)
                if try unsafe take(from: source, into: batch, until: limit, &lent) {
                    more.append(source)
                }
            }
            rest = more
        }
        guard !rest.isEmpty else { return false }
        let now = LogClock.steady.now()
        if now >= nextNudge {
            nextNudge = now + PartitionFetcher.nudgeMilliseconds
            session.nudge(sources.map(\.place))
        }
        return true
    }

    /// Returns whether the source has more.
    @unsafe
    private func take(
        from source: FetchSource, into batch: LogBatch, until limit: Int,
        _ lent: inout ContiguousArray<LentMessage>
    ) throws(LogFault) -> Bool {
        while true {
            let taken: FetchSource.Taken
            do {
                taken = try unsafe source.take(into: batch, until: limit, lent: &lent)
            } catch {
                throw error.fault("read", at: settings.place(of: source.place))
            }
            switch taken {
            case .drained: return false
            case .enough: return true
            case .event(let code, let offset, let text):
                try heed(source, code, offset: offset, text)
            }
        }
    }

    /// Lets the batch give lent messages back when it is reset.
    @unsafe
    private func keep(_ messages: ContiguousArray<LentMessage>, until batch: LogBatch) {
        guard unsafe !messages.isEmpty else { return }
        let session = session
        unsafe session.lend(messages.count)
        batch.onReset { unsafe session.giveBack(messages) }
    }

    /// Deals with a message that is not a record.
    private func heed(
        _ source: FetchSource, _ code: rd_kafka_resp_err_t, offset: Int64, _ text: String?
    ) throws(LogFault) {
        switch code {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            // Markers and aborted records before it take offsets and are never seen.
            source.position = max(source.position, offset)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
            // The client has stopped fetching here. Whatever comes of it, it is to say so again.
            defer { try? source.restart() }
            try checkRange(source)
        default:
            let error = RDKafkaError(code: code, text: text)
            // The client goes on by itself after what may pass.
            guard error.kind != .retriable else { return }
            if error.isUnknownPlace {
                _ = try inquiry.bounds(
                    of: source.place, timeoutMilliseconds: PartitionFetcher.boundsMilliseconds)
                return
            }
            throw error.fault("read", at: settings.place(of: source.place))
        }
    }

    /// Refuses an offset that is gone, or beyond the end. A new leader may have known less for a
    /// moment: then nothing is wrong.
    private func checkRange(_ source: FetchSource) throws(LogFault) {
        let (place, position) = (settings.place(of: source.place), source.position)
        let bounds = try inquiry.bounds(
            of: source.place, timeoutMilliseconds: PartitionFetcher.boundsMilliseconds)
        if position < bounds.lowerBound {
            throw LogFault(
                "read", at: place,
                reason: "offset \(position) is no longer there, the first is \(bounds.lowerBound)",
                hint: "retention has passed the reader; restore from a later position",
                remedy: .stop)
        }
        if position > bounds.upperBound {
            throw LogFault(
                "read", at: place,
                reason: "offset \(position) is beyond the end, \(bounds.upperBound)",
                hint: "the topic has lost records or was made anew", remedy: .stop)
        }
    }
}

// Ends and standstills.
extension PartitionFetcher {
    /// Asks where the partitions end, if it is time to. The time is taken before the question, so
    /// whatever was appended earlier lies before the answer.
    private func prove(isIdle: Bool, isDrained: Bool) throws(LogFault) {
        let now = LogClock.steady.now()
        let pause =
            isIdle
            ? PartitionFetcher.proofIdleMilliseconds : PartitionFetcher.proofBusyMilliseconds
        guard now >= max(nextProof, lastProof + pause), !sources.isEmpty else { return }
        // The wall clock may be set back, what was proven stays so. A record has its append time
        // some moments before readers can have it, and from another machine's clock.
        let asOf = max(
            proof.asOf, LogClock.wall.now() - PartitionFetcher.visibilityMilliseconds)
        do {
            let ends = try inquiry.ends(
                of: sources.map(\.place),
                timeoutMilliseconds: PartitionFetcher.proofTimeoutMilliseconds)
            proof = Proof(ends: believed(ends, now: now), asOf: asOf)
            silence = Silence()
            lastProof = now
        } catch {
            nextProof = now + PartitionFetcher.proofBackoffMilliseconds
            silence.grow(at: now)
            guard isIdle, silence.isTooLong else { return }
            silence = Silence()
            throw try inquiry.confirmed(error, of: sources.map(\.place)).fault(
                "read", at: settings.place, trouble: session.client.context.lastTrouble)
        }
        if isDrained { try watch(now) }
    }

    /// An end never lies before what has been read or before an end told earlier, unless that is
    /// told for so long that records must have been lost.
    private func believed(
        _ ends: [TopicPartition: Int64], now: Int64
    ) -> [TopicPartition: Int64] {
        var believed = ends
        for source in sources {
            guard let end = ends[source.place] else { continue }
            let latest = latestEnds[source.place]
            let known = max(latest?.end ?? 0, source.position)
            let since = latest?.disputedSince ?? now
            if end >= known || now - since >= PartitionFetcher.earlierEndMilliseconds {
                latestEnds[source.place] = (end, nil)
            } else {
                latestEnds[source.place] = (known, since)
                believed[source.place] = known
            }
        }
        return believed
    }

    /// Fetches anew when a partition has not moved for too long although records wait there.
    private func watch(_ now: Int64) throws(LogFault) {
        var stalled: [FetchSource] = []
        for source in sources {
            guard let end = proof.ends[source.place], end > source.position,
                !held.contains(source.place)
            else {
                source.waiting = (-1, now)
                continue
            }
            if source.waiting.position != source.position {
                source.waiting = (source.position, now)
            } else if now - source.waiting.since >= Int64(settings.stallTimeoutMilliseconds) {
                source.waiting.since = now
                stalled.append(source)
            }
        }
        guard !stalled.isEmpty else { return }
        // What an open transaction holds back is nobody's fault: ask as a committed reader.
        let stable = try? settings.ends(
            of: stalled.map(\.place), asking: session.client,
            timeoutMilliseconds: PartitionFetcher.proofTimeoutMilliseconds)
        let stuck = stalled.filter { source in
            stable.map { $0[source.place, default: 0] > source.position } ?? true
        }
        if !stuck.isEmpty { try restart(stuck.map(\.place)) }
    }

    private func restart(_ stuck: [TopicPartition]) throws(LogFault) {
        restarts += 1
        settings.log(
            KafkaLogLine(
                level: 4, facility: "STALL",
                message: "records wait but none came for \(settings.stallTimeoutMilliseconds) ms "
                    + "in \(stuck.map(\.description).joined(separator: ", ")): fetching anew"))
        let fresh = try FetchSession(settings, partitionCount: partitionCount, wakeUp: wakeUp)
        for index in sources.indices {
            let (place, position) = (sources[index].place, sources[index].position)
            sources[index].close()
            do {
                sources[index] = try fresh.open(place, at: position)
            } catch {
                throw error.fault("read", at: settings.place(of: place))
            }
        }
        session.close()
        session = fresh
    }
}
