// Hands records to a producer's queue: used to append and inside transactions.

import CRdKafka
import EventLog
import Glibc

/// A producer with the topics it has written to.
///
/// `@unchecked Sendable`: the client may be used from many threads, and topics are only made here
/// in the initialiser.
@safe
final class RecordSender: @unchecked Sendable {
    /// Why a record could not be handed over, and which.
    struct Refusal: Error {
        var error: RDKafkaError
        var index: Int
    }

    let client: RDKafkaClient
    private let topics: [Topic: OpaquePointer]

    init(
        _ properties: [String: String], topics: [Topic], settings: KafkaSettings
    ) throws(LogFault) {
        client = try RDKafkaClient(.producer, properties, settings: settings)
        var made: [Topic: OpaquePointer] = unsafe [:]
        for topic in topics {
            let name = settings.name(of: topic)
            guard let handle = unsafe rd_kafka_topic_new(client.pointer, name, nil) else {
                let error = RDKafkaError.last()
                unsafe made.values.forEach { unsafe rd_kafka_topic_destroy($0) }
                throw error.fault("open topic", at: settings.place(of: topic))
            }
            unsafe made[topic] = handle
        }
        unsafe self.topics = made
    }

    deinit {
        unsafe topics.values.forEach { unsafe rd_kafka_topic_destroy($0) }
        client.close()
    }

    /// Puts records into the queue, waiting for room in it until the deadline.
    func send(
        _ records: [OutgoingRecord], _ ticket: DeliveryBoard.Ticket, deadline: Int64
    ) throws(Refusal) {
        for (index, record) in records.enumerated() {
            while true {
                guard let error = send(record, ticket, index: index) else { break }
                guard error.code == RD_KAFKA_RESP_ERR__QUEUE_FULL,
                    LogClock.steady.now() < deadline
                else { throw Refusal(error: error, index: index) }
                // The queue empties at the pace of the brokers: a moment later there is room.
                usleep(1_000)
            }
        }
    }

    private func send(
        _ record: OutgoingRecord, _ ticket: DeliveryBoard.Ticket, index: Int
    ) -> RDKafkaError? {
        guard let topic = unsafe topics[record.topic] else {
            return RDKafkaError(code: RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
        }
        let mark = unsafe client.context.deliveries.mark(ticket, index: index)
        let result = unsafe RecordSender.withBytes(of: record.key) { key in
            unsafe RecordSender.withBytes(of: record.value) { value in
                unsafe rd_kafka_produce(
                    topic, Int32(record.partition), RD_KAFKA_MSG_F_COPY,
                    UnsafeMutableRawPointer(mutating: value.baseAddress), value.count,
                    key.baseAddress, key.count, mark)
            }
        }
        return result == 0 ? nil : RDKafkaError.last()
    }

    /// Nil is a null pointer, which deletes in a table; an empty value is not.
    @unsafe
    private static func withBytes<Result>(
        of bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard let bytes else { return unsafe body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        guard !bytes.isEmpty else {
            return unsafe withUnsafeBytes(of: UInt8(0)) { byte in
                unsafe body(UnsafeRawBufferPointer(rebasing: byte[..<0]))
            }
        }
        return unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }
}
