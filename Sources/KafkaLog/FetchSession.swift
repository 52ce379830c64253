// One fetching client, and the messages it has lent out. Thrown away and made anew when a partition
// stands still.

import CRdKafka
import EventLog

/// A message as librdkafka lends it.
typealias LentMessage = UnsafeMutablePointer<rd_kafka_message_t>

/// A consumer without a group, with a queue for each partition.
///
/// One thread owns it. It is closed in this order: partitions with their queues, topics, and the
/// client once the last message that it lent out has come back.
@safe
final class FetchSession {
    /// What may wait in the queues of a session: messages x (payload + 325 bytes). A fetch answer
    /// comes on top, decompressed as a whole: it is kept small for the case that it compresses
    /// well.
    static let queuedRecordsMax = 131_072
    static let queuedKilobytesMax = 32_768
    /// So that each partition makes progress, whatever their number.
    static let queuedRecordsMin = 256
    static let queuedKilobytesMin = 64
    /// Of an answer, as it comes; and of one partition in it. What a partition brings at once waits
    /// there decompressed, so where there are many each brings less; librdkafka asks for more where
    /// a batch is larger.
    static let fetchBytesMax = 2 << 20
    static let partitionBytes = 8 << 10...128 << 10

    let client: RDKafkaClient
    let wakeUp: WakeUp
    private let settings: KafkaSettings
    private var topics: [Topic: OpaquePointer] = unsafe [:]
    private var lent = 0
    private var isClosed = false

    /// `partitionCount`: how many it may have to follow; they share the room.
    init(_ settings: KafkaSettings, partitionCount: Int, wakeUp: WakeUp) throws(LogFault) {
        self.settings = settings
        self.wakeUp = wakeUp
        client = try RDKafkaClient(
            .consumer, FetchSession.properties(partitionCount, settings), settings: settings)
    }

    deinit { close() }

    private static func properties(
        _ partitionCount: Int, _ settings: KafkaSettings
    ) -> [String: String] {
        let share = max(1, partitionCount)
        let partitionBytes = min(
            max(4 * fetchBytesMax / share, partitionBytes.lowerBound), partitionBytes.upperBound)
        var properties = [
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
            "check.crcs": "\(settings.checksRecords)",
            "fetch.wait.max.ms": "50",
            "fetch.min.bytes": "1",
            "fetch.message.max.bytes": "\(partitionBytes)",
            "fetch.max.bytes": "\(fetchBytesMax)",
            "fetch.error.backoff.ms": "100",
            "queued.min.messages": "\(max(queuedRecordsMin, queuedRecordsMax / share))",
            "queued.max.messages.kbytes": "\(max(queuedKilobytesMin, queuedKilobytesMax / share))",
        ]
        if RDKafkaVersion.current >= .queueBackoff { properties["fetch.queue.backoff.ms"] = "5" }
        return properties
    }

    /// Starts fetching a partition.
    func open(_ place: TopicPartition, at offset: Int64) throws(RDKafkaError) -> FetchSource {
        let topic = try unsafe handle(of: place.topic)
        return try unsafe FetchSource(place, topic, session: self, at: offset)
    }

    /// Errors of connections are events of the client's own queue.
    func serveEvents() { unsafe rd_kafka_poll(client.pointer, 0) }

    /// Before 2.2 the library looks at full queues again only when something else happens, at the
    /// latest after a second. A question without waiting for its answer is such a thing.
    func nudge(_ places: [TopicPartition]) {
        guard RDKafkaVersion.current < .queueBackoff else { return }
        _ = try? settings.ends(of: places, asking: client, timeoutMilliseconds: 0)
    }

    /// Counts messages that somebody keeps for a while; each comes back by `giveBack`.
    func lend(_ count: Int) { lent += count }

    @unsafe
    func giveBack(_ messages: ContiguousArray<LentMessage>) {
        unsafe messages.forEach { unsafe rd_kafka_message_destroy($0) }
        lent -= unsafe messages.count
        if isClosed && lent == 0 { client.close() }
    }

    /// Its sources must have been closed.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        unsafe topics.values.forEach { unsafe rd_kafka_topic_destroy($0) }
        unsafe topics = [:]
        if lent == 0 { client.close() }
    }

    @unsafe
    private func handle(of topic: Topic) throws(RDKafkaError) -> OpaquePointer {
        if let known = unsafe topics[topic] { return unsafe known }
        guard
            let made = unsafe rd_kafka_topic_new(client.pointer, settings.name(of: topic), nil)
        else { throw RDKafkaError.last() }
        unsafe topics[topic] = made
        return unsafe made
    }
}
