// One fetching client: its queue, the partitions it follows, and the messages it has lent out.
// Thrown away and made anew when a partition stands still.

import CRdKafka
import EventLog

/// A consumer without a group that puts the records of all its partitions into one queue.
///
/// One thread owns it. It is closed in this order: partitions, queue, topics, and the client once
/// the last message that it lent out has come back.
@safe
final class FetchSession {
    /// A message as librdkafka lends it.
    typealias Message = UnsafeMutablePointer<rd_kafka_message_t>

    let client: RDKafkaClient
    private let settings: KafkaSettings
    private let queue: OpaquePointer
    private var topics: [Topic: OpaquePointer] = unsafe [:]
    private var started: Set<TopicPartition> = []
    private var lent = 0
    private var isClosed = false

    init(_ settings: KafkaSettings) throws(LogFault) {
        self.settings = settings
        client = try RDKafkaClient(.consumer, FetchSession.properties, settings: settings)
        guard let queue = unsafe rd_kafka_queue_new(client.pointer) else {
            client.close()
            throw LogFault("read", at: settings.place, reason: "no queue", remedy: .stop)
        }
        unsafe self.queue = queue
    }

    deinit { close() }

    /// The budget of a lane's queue is messages x (payload + 325 bytes). A fetch answer comes on
    /// top, decompressed as a whole: it is kept small for the case that it compresses well.
    private static var properties: [String: String] {
        var properties = [
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
            "check.crcs": "true",
            "fetch.wait.max.ms": "50",
            "fetch.min.bytes": "1",
            "fetch.message.max.bytes": "1048576",
            "fetch.max.bytes": "8388608",
            "fetch.error.backoff.ms": "100",
            "queued.min.messages": "200000",
            "queued.max.messages.kbytes": "65536",
        ]
        if RDKafkaVersion.current >= .queueBackoff { properties["fetch.queue.backoff.ms"] = "5" }
        return properties
    }

    func start(_ place: TopicPartition, at offset: Int64) throws(RDKafkaError) {
        let topic = try unsafe handle(of: place.topic)
        let result = unsafe rd_kafka_consume_start_queue(
            topic, Int32(place.partition), offset, queue)
        guard result == 0 else { throw RDKafkaError.last() }
        started.insert(place)
    }

    func stop(_ place: TopicPartition) {
        guard let topic = unsafe topics[place.topic], started.remove(place) != nil else { return }
        unsafe rd_kafka_consume_stop(topic, Int32(place.partition))
    }

    /// The topic's place in librdkafka's memory, by which its messages tell it.
    func identity(of topic: Topic) -> UInt? {
        unsafe topics[topic].map { UInt(bitPattern: $0) }
    }

    /// Fills the buffer with what waits; with nothing there it waits for one message at most.
    @unsafe
    func receive(
        into buffer: UnsafeMutableBufferPointer<Message?>, waitMilliseconds: Int
    ) throws(RDKafkaError) -> Int {
        // Errors of connections are events of the client's own queue.
        unsafe rd_kafka_poll(client.pointer, 0)
        // The batch call waits until the buffer is full or the time is over: with a wait it may
        // be asked for one message only.
        let size = waitMilliseconds > 0 ? 1 : buffer.count
        let count = unsafe rd_kafka_consume_batch_queue(
            queue, Int32(waitMilliseconds), buffer.baseAddress, size)
        guard count >= 0 else { throw RDKafkaError.last() }
        return count
    }

    /// Counts messages that somebody keeps for a while; each comes back by `giveBack`.
    func lend(_ count: Int) { lent += count }

    @unsafe
    func giveBack(_ messages: ContiguousArray<Message>) {
        for unsafemessage in unsafe messages { unsafe rd_kafka_message_destroy(message) }
        lent -= unsafe messages.count
        if isClosed && lent == 0 { client.close() }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        for place in started { stop(place) }
        unsafe rd_kafka_queue_destroy(queue)
        for unsafetopic in unsafe topics.values { unsafe rd_kafka_topic_destroy(topic) }
        unsafe topics = [:]
        if lent == 0 { client.close() }
    }

    private func handle(of topic: Topic) throws(RDKafkaError) -> OpaquePointer {
        if let known = unsafe topics[topic] { return unsafe known }
        guard
            let made = unsafe rd_kafka_topic_new(client.pointer, settings.name(of: topic), nil)
        else { throw RDKafkaError.last() }
        unsafe topics[topic] = made
        return unsafe made
    }
}
