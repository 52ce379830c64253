// One partition of a fetching client: its queue, its position, and the way of its records into a
// batch without copying.

import CRdKafka
import EventLog

/// A partition that is fetched. One thread owns it.
@safe
final class FetchSource {
    /// What taking ended with.
    enum Taken {
        /// Nothing was left to take.
        case drained
        /// As much as was asked for.
        case enough
        /// The next message says something about the partition instead of being a record.
        case event(code: rd_kafka_resp_err_t, offset: Int64, text: String?)
    }

    /// Messages taken from the library at a time.
    static let chunkMax = 512

    let place: TopicPartition
    var position: Int64
    /// When it was first proven that records wait at this position.
    var waiting: (position: Int64, since: Int64) = (-1, 0)

    private let session: FetchSession
    private let topic: OpaquePointer
    private let queue: OpaquePointer
    /// Messages taken but not yet in a batch lie from `next` to `count`.
    private let chunk: UnsafeMutableBufferPointer<LentMessage?>
    private var next = 0
    private var count = 0
    private var isClosed = false

    @unsafe
    init(
        _ place: TopicPartition, _ topic: OpaquePointer, session: FetchSession, at offset: Int64
    ) throws(RDKafkaError) {
        guard let queue = unsafe rd_kafka_queue_new(session.client.pointer) else {
            throw RDKafkaError(code: RD_KAFKA_RESP_ERR__FAIL)
        }
        self.place = place
        self.position = offset
        self.session = session
        unsafe self.topic = topic
        unsafe self.queue = queue
        unsafe chunk = .allocate(capacity: FetchSource.chunkMax)
        unsafe chunk.initialize(repeating: nil)
        unsafe session.wakeUp.attach(queue)
        do {
            try start()
        } catch {
            isClosed = true
            unsafe WakeUp.detach(queue)
            unsafe rd_kafka_queue_destroy(queue)
            throw error
        }
    }

    deinit {
        close()
        unsafe chunk.deallocate()
    }

    /// Whether there is anything to take.
    var isWaiting: Bool { unsafe next < count || rd_kafka_queue_length(queue) > 0 }

    /// Moves records into the batch until it holds so many bytes, and their messages, which are
    /// lent to the batch, to `lent`.
    @unsafe
    func take(
        into batch: LogBatch, until bytes: Int, lent: inout ContiguousArray<LentMessage>
    ) throws(RDKafkaError) -> Taken {
        try batch.fill { (content) throws(RDKafkaError) in
            try unsafe take(into: &content, of: batch.bytesMax, until: bytes, &lent)
        }
    }

    @unsafe
    private func take(
        into batch: inout LogBatch.Content, of bytesMax: Int, until bytes: Int,
        _ lent: inout ContiguousArray<LentMessage>
    ) throws(RDKafkaError) -> Taken {
        while batch.bytes < bytes || batch.records.isEmpty {
            if next == count {
                try receive()
                if count == 0 { return .drained }
            }
            guard let message = unsafe chunk[next] else { return .drained }
            let code = unsafe message.pointee.err
            if code != RD_KAFKA_RESP_ERR_NO_ERROR {
                let offset = unsafe message.pointee.offset
                let text = unsafe rd_kafka_message_errstr(message).map {
                    unsafe String(cString: $0)
                }
                unsafe drop(message)
                return .event(code: code, offset: offset, text: text)
            }
            if unsafe message.pointee.offset < position {
                // Fetched before a restart at a later position.
                unsafe drop(message)
            } else if unsafe !hand(message, to: &batch, of: bytesMax, &lent) {
                return .enough
            }
        }
        return .enough
    }

    /// Takes up fetching again at the present position.
    func restart() throws(RDKafkaError) {
        dropChunk()
        unsafe rd_kafka_consume_stop(topic, Int32(place.partition))
        try start()
    }

    /// Stops fetching and gives back what was taken; the position stays.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        dropChunk()
        unsafe rd_kafka_consume_stop(topic, Int32(place.partition))
        unsafe WakeUp.detach(queue)
        unsafe rd_kafka_queue_destroy(queue)
    }

    private func start() throws(RDKafkaError) {
        let result = unsafe rd_kafka_consume_start_queue(
            topic, Int32(place.partition), position, queue)
        guard result == 0 else { throw RDKafkaError.last() }
    }

    private func receive() throws(RDKafkaError) {
        (next, count) = (0, 0)
        guard unsafe rd_kafka_queue_length(queue) > 0 else { return }
        // Without a wait: with one the call would return only once the chunk is full.
        let received = unsafe rd_kafka_consume_batch_queue(
            queue, 0, chunk.baseAddress, chunk.count)
        guard received >= 0 else { throw RDKafkaError.last() }
        count = received
    }

    /// False when the batch has no room.
    @unsafe
    private func hand(
        _ message: LentMessage, to batch: inout LogBatch.Content, of bytesMax: Int,
        _ lent: inout ContiguousArray<LentMessage>
    ) -> Bool {
        let offset = unsafe message.pointee.offset
        let append = unsafe rd_kafka_message_timestamp(message, nil)
        let key = unsafe message.pointee.key.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len)
        }
        let value = unsafe message.pointee.payload.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.len)
        }
        let record = unsafe LogRecord(
            topic: place.topic, partition: place.partition, offset: offset, append: append,
            key: key, value: value)
        guard batch.append(lent: record, upTo: bytesMax) else { return false }
        unsafe lent.append(message)
        next += 1
        position = offset + 1
        return true
    }

    @unsafe
    private func drop(_ message: LentMessage) {
        unsafe rd_kafka_message_destroy(message)
        next += 1
    }

    private func dropChunk() {
        while next < count {
            guard let message = unsafe chunk[next] else { break }
            unsafe drop(message)
        }
        (next, count) = (0, 0)
    }
}
