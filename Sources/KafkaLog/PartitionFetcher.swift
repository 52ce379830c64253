// Follows partitions on behalf of one thread: fills batches with librdkafka's own bytes, proves that
// nothing waits, and notices a partition that stands still. Used by readers and workers alike.

import CRdKafka
import EventLog

/// Positions in partitions, and the session that fetches from there.
@safe
final class PartitionFetcher {
    private struct Follow {
        let place: TopicPartition
        var position: Int64
        /// The position when it was last proven that records wait.
        var waitingAt: Int64 = -1
        var waitingSince: Int64 = 0
    }

    /// The proof of an end: where the partitions ended at a time.
    private struct Proof {
        var ends: [TopicPartition: Int64]
        var asOf: Int64
    }

    /// Messages taken from librdkafka at a time.
    static let chunkMax = 1_024
    /// Between two looks at what else has happened, while nothing comes.
    static let sliceMilliseconds = 50
    /// How often the ends are asked for: idle, and beside records that come in.
    static let proofIdleMilliseconds: Int64 = 20
    static let proofBusyMilliseconds: Int64 = 100
    /// For one question; after one without an answer the next has time.
    static let proofTimeoutMilliseconds = 250
    static let proofBackoffMilliseconds: Int64 = 1_000
    /// How long the log may be out of reach before polls say so.
    static let silenceMilliseconds: Int64 = 10_000
    /// Memory is protected by the page: what lies on a value's last page may be read.
    private static let pageBytes: UInt = 4_096

    private let settings: KafkaSettings
    private let inquiry: ClusterInquiry
    private var session: FetchSession
    private var follows: ContiguousArray<Follow> = []
    private var indexes: [TopicPartition: Int] = [:]
    /// By the topic's place in librdkafka's memory, then by partition: index into `follows`.
    private var routes: [(identity: UInt, topic: Topic, indexes: [Int])] = []

    /// Messages taken but not yet in a batch lie from `next` to `count`.
    private let chunk: UnsafeMutableBufferPointer<FetchSession.Message?>
    private var next = 0
    private var count = 0
    /// Found after records that are in the batch already; thrown by the next poll.
    private var postponed: LogFault?

    private var proof = Proof(ends: [:], asOf: 0)
    private var nextProof: Int64 = 0
    private var unreachableSince: Int64?
    /// How often a partition that stood still was fetched anew.
    private(set) var restarts = 0

    init(_ settings: KafkaSettings, _ inquiry: ClusterInquiry) throws(LogFault) {
        self.settings = settings
        self.inquiry = inquiry
        session = try FetchSession(settings)
        unsafe chunk = .allocate(capacity: PartitionFetcher.chunkMax)
        unsafe chunk.initialize(repeating: nil)
    }

    deinit {
        close()
        unsafe chunk.deallocate()
    }

    var positions: [TopicPartition: Int64] {
        Dictionary(uniqueKeysWithValues: follows.map { ($0.place, $0.position) })
    }

    func follow(_ place: TopicPartition, from offset: Int64) throws(LogFault) {
        precondition(indexes[place] == nil, "a partition is followed once")
        do {
            try session.start(place, at: offset)
        } catch {
            throw error.fault("read", at: settings.place(of: place))
        }
        indexes[place] = follows.count
        follows.append(Follow(place: place, position: offset))
        route(place, to: follows.count - 1)
        nextProof = 0
    }

    func leave(_ places: Set<TopicPartition>) {
        for place in places { session.stop(place) }
        // What was taken of them goes, too: followed again, it would look like new records.
        for position in next..<count {
            guard let message = unsafe chunk[position], let index = unsafe index(of: message),
                places.contains(follows[index].place)
            else { continue }
            unsafe rd_kafka_message_destroy(message)
            unsafe chunk[position] = nil
        }
        follows.removeAll { places.contains($0.place) }
        indexes = [:]
        routes = []
        for (index, follow) in follows.enumerated() {
            indexes[follow.place] = index
            route(follow.place, to: index)
        }
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
        let isDrained = try fill(batch, wait: waitMilliseconds, isInterrupted)
        try prove(isIdle: batch.isEmpty, isDrained: isDrained)
        var ended: Set<TopicPartition> = []
        for follow in follows {
            if let end = proof.ends[follow.place], follow.position >= end {
                ended.insert(follow.place)
            }
        }
        return PollOutcome(ended: ended, asOf: proof.asOf)
    }

    func close() {
        dropChunk()
        session.close()
    }
}

// Taking records.
extension PartitionFetcher {
    /// Returns whether nothing was left to take.
    private func fill(
        _ batch: LogBatch, wait: Int, _ isInterrupted: () -> Bool
    ) throws(LogFault) -> Bool {
        let deadline = LogClock.steady.now() + Int64(wait)
        var held: ContiguousArray<FetchSession.Message> = unsafe []
        defer { unsafe keep(held, until: batch) }
        var hasSeenEnd = false
        while true {
            while next < count {
                switch try unsafe take(into: batch, &held) {
                case .taken: continue
                case .end: hasSeenEnd = true
                case .noRoom: return false
                }
            }
            if postponed != nil { return false }
            // First whatever waits, without waiting; only with nothing at all, for one message.
            next = 0
            count = try receive(waitMilliseconds: 0)
            if count > 0 { continue }
            let left = Int(deadline - LogClock.steady.now())
            if !batch.isEmpty || hasSeenEnd || left <= 0 || isInterrupted() { return true }
            count = try receive(
                waitMilliseconds: min(left, PartitionFetcher.sliceMilliseconds))
        }
    }

    private func receive(waitMilliseconds: Int) throws(LogFault) -> Int {
        do {
            return try unsafe session.receive(into: chunk, waitMilliseconds: waitMilliseconds)
        } catch {
            throw error.fault("read", at: settings.place)
        }
    }

    private enum Taken {
        case taken
        case end
        case noRoom
    }

    /// Takes the next message of the chunk.
    @unsafe
    private func take(
        into batch: LogBatch, _ held: inout ContiguousArray<FetchSession.Message>
    ) throws(LogFault) -> Taken {
        guard let message = unsafe chunk[next] else {
            next += 1
            return .taken
        }
        guard let index = unsafe index(of: message) else {
            // Of a partition that was left, or an error of the client as a whole.
            unsafe drop(message)
            return .taken
        }
        if unsafe message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR {
            defer { unsafe drop(message) }
            return try unsafe heed(message, index, isFirst: batch.isEmpty)
        }
        let offset = unsafe message.pointee.offset
        // Fetched before a restart: it is in an earlier batch already.
        guard offset >= follows[index].position else {
            unsafe drop(message)
            return .taken
        }
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let append = unsafe rd_kafka_message_timestamp(message, &type)
        let place = follows[index].place
        let key = unsafe message.pointee.key.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len)
        }
        let value = unsafe message.pointee.payload.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.len)
        }
        if unsafe PartitionFetcher.isPadded(value) {
            let record = unsafe LogRecord(
                topic: place.topic, partition: place.partition, offset: offset, append: append,
                key: key, value: value)
            guard batch.append(lent: record) else { return .noRoom }
            unsafe held.append(message)
            next += 1
        } else {
            guard
                unsafe batch.append(
                    place.topic, partition: place.partition, offset: offset, append: append,
                    key: key, value: value)
            else { return .noRoom }
            unsafe drop(message)
        }
        follows[index].position = offset + 1
        return .taken
    }

    /// Whether the bytes that a batch promises behind each value may be read: they lie on the same
    /// page as the value's last byte. What they hold is of no account.
    @unsafe
    private static func isPadded(_ value: UnsafeRawBufferPointer?) -> Bool {
        guard let value = unsafe value else { return true }
        guard let base = value.baseAddress, unsafe !value.isEmpty else { return false }
        let last = unsafe UInt(bitPattern: base + value.count - 1)
        return last % pageBytes + UInt(LogBatch.padding) < pageBytes
    }

    /// Lets the batch give lent messages back when it is reset.
    @unsafe
    private func keep(
        _ messages: ContiguousArray<FetchSession.Message>, until batch: LogBatch
    ) {
        guard unsafe !messages.isEmpty else { return }
        let session = session
        unsafe session.lend(messages.count)
        batch.onReset { unsafe session.giveBack(messages) }
    }

    @unsafe
    private func drop(_ message: FetchSession.Message) {
        unsafe rd_kafka_message_destroy(message)
        unsafe chunk[next] = nil
        next += 1
    }

    private func dropChunk() {
        while next < count {
            if let message = unsafe chunk[next] {
                unsafe drop(message)
            } else {
                next += 1
            }
        }
    }

    private func route(_ place: TopicPartition, to index: Int) {
        guard let identity = session.identity(of: place.topic) else { return }
        let entry =
            routes.firstIndex { $0.identity == identity }
            ?? {
                routes.append((identity, place.topic, []))
                return routes.count - 1
            }()
        while routes[entry].indexes.count <= place.partition { routes[entry].indexes.append(-1) }
        routes[entry].indexes[place.partition] = index
    }

    @unsafe
    private func index(of message: FetchSession.Message) -> Int? {
        let identity = unsafe UInt(bitPattern: message.pointee.rkt)
        let partition = unsafe Int(message.pointee.partition)
        for route in routes where route.identity == identity {
            guard route.indexes.indices.contains(partition) else { return nil }
            let index = route.indexes[partition]
            return index >= 0 ? index : nil
        }
        return nil
    }
}

// Ends, faults and standstills.
extension PartitionFetcher {
    /// Deals with a message that is an event of a partition.
    @unsafe
    private func heed(
        _ message: FetchSession.Message, _ index: Int, isFirst: Bool
    ) throws(LogFault) -> Taken {
        let code = unsafe message.pointee.err
        let place = follows[index].place
        if code == RD_KAFKA_RESP_ERR__PARTITION_EOF {
            // Markers and aborted records before it take offsets and are never seen.
            follows[index].position = unsafe max(follows[index].position, message.pointee.offset)
            return .end
        }
        let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) }
        let error = RDKafkaError(code: code, text: text)
        var fault: LogFault?
        switch code {
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
            fault = try outOfRange(index)
        default:
            // The client goes on by itself after what may pass.
            if error.kind != .retriable {
                fault = error.fault("read", at: settings.place(of: place))
            }
        }
        guard let fault else { return .taken }
        guard isFirst else {
            postponed = fault
            return .end
        }
        throw fault
    }

    /// An offset that the log does not have: gone, or beyond the end. A new leader may know less
    /// for a moment, so the bounds decide; nil if reading has been taken up again.
    private func outOfRange(_ index: Int) throws(LogFault) -> LogFault? {
        let (place, position) = (follows[index].place, follows[index].position)
        let bounds = try inquiry.bounds(of: place, timeoutMilliseconds: 5_000)
        if position < bounds.lowerBound {
            return LogFault(
                "read", at: settings.place(of: place),
                reason: "offset \(position) is no longer there, the first is \(bounds.lowerBound)",
                hint: "retention has passed the reader; restore from a later position",
                remedy: .stop)
        }
        if position > bounds.upperBound {
            return LogFault(
                "read", at: settings.place(of: place),
                reason: "offset \(position) is beyond the end, \(bounds.upperBound)",
                hint: "the topic has lost records or was made anew", remedy: .stop)
        }
        session.stop(place)
        do {
            try session.start(place, at: position)
        } catch {
            throw error.fault("read", at: settings.place(of: place))
        }
        return nil
    }

    /// Asks where the partitions end, if it is time to. The time is taken before the question, so
    /// whatever was appended earlier lies before the answer.
    private func prove(isIdle: Bool, isDrained: Bool) throws(LogFault) {
        let now = LogClock.steady.now()
        guard now >= nextProof, !follows.isEmpty else { return }
        let asOf = LogClock.wall.now()
        do {
            let ends = try inquiry.ends(
                of: follows.map(\.place),
                timeoutMilliseconds: PartitionFetcher.proofTimeoutMilliseconds)
            proof = Proof(ends: ends, asOf: asOf)
            unreachableSince = nil
            nextProof =
                now
                + (isIdle
                    ? PartitionFetcher.proofIdleMilliseconds
                    : PartitionFetcher.proofBusyMilliseconds)
        } catch {
            nextProof = now + PartitionFetcher.proofBackoffMilliseconds
            let since = unreachableSince ?? now
            unreachableSince = since
            guard isIdle, now - since >= PartitionFetcher.silenceMilliseconds else { return }
            unreachableSince = now
            throw error.fault(
                "read", at: settings.place,
                trouble: session.client.context.lastTrouble)
        }
        if isDrained { try watch(now) }
    }

    /// Fetches anew when a partition has not moved for too long although records wait there.
    private func watch(_ now: Int64) throws(LogFault) {
        var stalled: [TopicPartition] = []
        for index in follows.indices {
            let (place, position) = (follows[index].place, follows[index].position)
            guard let end = proof.ends[place], end > position else {
                follows[index].waitingAt = -1
                continue
            }
            if follows[index].waitingAt != position {
                follows[index].waitingAt = position
                follows[index].waitingSince = now
            } else if now - follows[index].waitingSince
                >= Int64(settings.stallTimeoutMilliseconds)
            {
                follows[index].waitingSince = now
                stalled.append(place)
            }
        }
        guard !stalled.isEmpty else { return }
        // What an open transaction holds back is nobody's fault: ask as a committed reader.
        let stable = try? settings.ends(
            of: stalled, asking: session.client,
            timeoutMilliseconds: PartitionFetcher.proofTimeoutMilliseconds)
        let stuck = stalled.filter { place in
            guard let index = indexes[place] else { return false }
            return stable.map { $0[place, default: 0] > follows[index].position } ?? true
        }
        if !stuck.isEmpty { try restart(stuck) }
    }

    private func restart(_ stuck: [TopicPartition]) throws(LogFault) {
        restarts += 1
        settings.log(
            KafkaLogLine(
                level: 4, facility: "STALL",
                message: "records wait but none came for \(settings.stallTimeoutMilliseconds) ms "
                    + "in \(stuck.map(\.description).joined(separator: ", ")): fetching anew"))
        dropChunk()
        session.close()
        session = try FetchSession(settings)
        routes = []
        for (index, follow) in follows.enumerated() {
            do {
                try session.start(follow.place, at: follow.position)
            } catch {
                throw error.fault("read", at: settings.place(of: follow.place))
            }
            route(follow.place, to: index)
        }
    }
}
