// A client of librdkafka without any of our own code: for those who are not us, and for what only
// an administrator does.
import CRdKafka
import EventLog
import KafkaLog
import Synchronization

/// A producer made from properties. One owner, which closes it.
///
/// `@unchecked Sendable`: librdkafka's clients may be used from any thread.
@safe
final class RawClient: @unchecked Sendable {
    struct Refused: Error {
        let what: String
        let reason: String
    }

    let pointer: OpaquePointer
    private let isClosed = Atomic<Bool>(false)

    init(_ properties: [String: String]) throws {
        let configuration = unsafe rd_kafka_conf_new()
        var message = [CChar](repeating: 0, count: 512)
        for (name, value) in properties {
            let result = unsafe rd_kafka_conf_set(
                configuration, name, value, &message, message.count)
            guard result == RD_KAFKA_CONF_OK else {
                throw Refused(what: "\(name)=\(value)", reason: RawClient.text(message))
            }
        }
        let made = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &message, message.count)
        guard let made = unsafe made else {
            throw Refused(what: "a client", reason: RawClient.text(message))
        }
        unsafe pointer = made
    }

    deinit { close() }

    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        unsafe rd_kafka_purge(pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        unsafe rd_kafka_destroy(pointer)
    }

    /// Frees an error object and throws it; nil stands for success.
    @unsafe
    static func check(_ what: String, _ error: OpaquePointer?) throws {
        guard let error = unsafe error else { return }
        defer { unsafe rd_kafka_error_destroy(error) }
        throw Refused(what: what, reason: unsafe String(cString: rd_kafka_error_string(error)))
    }

    static func check(_ what: String, _ code: rd_kafka_resp_err_t) throws {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        throw Refused(what: what, reason: unsafe String(cString: rd_kafka_err2str(code)))
    }

    static func text(_ message: [CChar]) -> String {
        let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Hands records over; whoever flushes or commits waits for them.
    func produce(_ records: [OutgoingRecord], prefix: String) throws {
        for record in records {
            let name = prefix + record.topic.name
            guard let topic = unsafe rd_kafka_topic_new(pointer, name, nil) else {
                throw Refused(what: name, reason: "no topic")
            }
            defer { unsafe rd_kafka_topic_destroy(topic) }
            var value = record.value ?? []
            let key = record.key ?? []
            let count = value.count
            let result = unsafe rd_kafka_produce(
                topic, Int32(record.partition), RD_KAFKA_MSG_F_COPY, &value, count, key,
                key.count, nil)
            guard result == 0 else { throw Refused(what: name, reason: "not produced") }
        }
    }

    func flush() throws {
        try RawClient.check("flush", unsafe rd_kafka_flush(pointer, 30_000))
    }
}
