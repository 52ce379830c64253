// One client of librdkafka with one owner: made from a dictionary of properties, closed explicitly.
// Order of closing: messages, lists and queues, then the client, then the context of its callbacks.

import CRdKafka
import EventLog
import Synchronization

/// What librdkafka's callbacks may reach: it knows one opaque pointer a client, so this is all.
final class RDKafkaContext: Sendable {
    let log: @Sendable (KafkaLogLine) -> Void
    /// Where delivery reports go; only producers have any.
    let deliveries = DeliveryBoard()
    private let trouble = Mutex<String?>(nil)
    /// By facility, the second of its last line and how many more came in it.
    private let recent = Mutex<[String: (second: Int64, more: Int)]>([:])

    init(log: @escaping @Sendable (KafkaLogLine) -> Void) {
        self.log = log
    }

    /// Passes on one line a second of each facility: what is tried a thousand times a second is
    /// not told a thousand times.
    func take(_ line: KafkaLogLine) {
        // Who asks for debugging wants everything.
        guard line.level < 7 else { return log(line) }
        let second = LogClock.steady.now() / 1_000
        let more: Int? = recent.withLock { recent in
            guard let last = recent[line.facility], last.second == second else {
                return recent.updateValue((second, 0), forKey: line.facility)?.more ?? 0
            }
            recent[line.facility] = (second, last.more + 1)
            return nil
        }
        guard let more else { return }
        var line = line
        if more > 0 { line.message += " (and \(more) more before)" }
        log(line)
    }

    /// The last trouble of a connection, with the broker's name.
    var lastTrouble: String? { trouble.withLock { $0 } }

    /// That all brokers are down says less than what one of them has met before.
    func note(trouble text: String, code: rd_kafka_resp_err_t? = nil) {
        trouble.withLock { trouble in
            if code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || trouble == nil { trouble = text }
        }
    }

    @unsafe
    static func of(_ client: OpaquePointer?) -> RDKafkaContext? {
        guard let opaque = unsafe rd_kafka_opaque(client) else { return nil }
        return unsafe Unmanaged<RDKafkaContext>.fromOpaque(opaque).takeUnretainedValue()
    }
}

/// A producer or consumer. `@unchecked Sendable`: a client may be used from many threads, and what
/// is mutable here is behind a lock.
@safe
final class RDKafkaClient: @unchecked Sendable {
    enum Role: Equatable {
        /// Delivery reports and errors are handled by librdkafka's own background thread.
        case producer
        /// Without a group; its owner polls it.
        case consumer
        /// A consumer for questions, asked from many threads and polled by nobody: errors are
        /// handled by librdkafka's background thread.
        case inquirer
        /// In a group; rebalances come as events of its queue.
        case member
    }

    let pointer: OpaquePointer
    let context: RDKafkaContext
    let place: String
    private let role: Role
    private let isClosed = Mutex(false)

    init(
        _ role: Role, _ properties: [String: String], settings: KafkaSettings
    ) throws(LogFault) {
        context = RDKafkaContext(log: settings.log)
        place = settings.place
        self.role = role
        let configuration = try unsafe RDKafkaClient.configuration(
            properties.merging(settings.properties) { ours, _ in ours }, settings: settings)
        // Held until the client is destroyed: callbacks use it unretained.
        let opaque = unsafe Unmanaged.passRetained(context)
        unsafe rd_kafka_conf_set_opaque(configuration, opaque.toOpaque())
        unsafe RDKafkaClient.setCallbacks(configuration, for: role)
        var message = [CChar](repeating: 0, count: 512)
        let type = role == .producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER
        guard let made = unsafe rd_kafka_new(type, configuration, &message, message.count) else {
            // Only a client that was made takes the configuration over.
            unsafe rd_kafka_conf_destroy(configuration)
            unsafe opaque.release()
            throw LogFault(
                "configure Kafka", at: settings.place, reason: RDKafkaClient.text(message),
                remedy: .stop)
        }
        unsafe pointer = made
        if role == .producer || role == .inquirer { forwardToBackground() }
    }

    deinit { close() }

    /// What ended the client for good; nil while it is of use.
    var fatalError: RDKafkaError? {
        let code = unsafe rd_kafka_fatal_error(pointer, nil, 0)
        return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : RDKafkaError(code: code)
    }

    /// Ends the client. Its messages, lists and queues must have been released.
    func close() {
        let first = isClosed.withLock { closed in
            defer { closed = true }
            return !closed
        }
        guard first else { return }
        if role == .producer {
            // What is left was given up by its callers; without this the library warns of it.
            unsafe rd_kafka_purge(pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        }
        if role == .member {
            // Closing a consumer tells the group nothing of a static member, and may wait for ever:
            // when a revocation comes just then, it answers by asking its own thread, which may
            // have stopped to listen. This way the revocation is nobody's any more.
            unsafe rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        } else {
            unsafe rd_kafka_destroy(pointer)
        }
        unsafe Unmanaged.passUnretained(context).release()
    }

    private func forwardToBackground() {
        let main = unsafe rd_kafka_queue_get_main(pointer)
        let background = unsafe rd_kafka_queue_get_background(pointer)
        unsafe rd_kafka_queue_forward(main, background)
        unsafe rd_kafka_queue_destroy(background)
        unsafe rd_kafka_queue_destroy(main)
    }

    /// What all clients have in common; the caller's properties win over these.
    private static func common(_ settings: KafkaSettings) -> [String: String] {
        [
            "bootstrap.servers": settings.bootstrap,
            "client.id": "\(settings.prefix)\(settings.instance)",
            "socket.nagle.disable": "true",
            "reconnect.backoff.max.ms": "1000",
        ]
    }

    private static func configuration(
        _ properties: [String: String], settings: KafkaSettings
    ) throws(LogFault) -> OpaquePointer {
        guard let configuration = unsafe rd_kafka_conf_new() else {
            throw LogFault(
                "configure Kafka", at: settings.place, reason: "no memory", remedy: .stop)
        }
        let all = common(settings).merging(properties) { _, given in given }
        for (name, value) in all.sorted(by: { $0.key < $1.key }) {
            var message = [CChar](repeating: 0, count: 512)
            let result = unsafe rd_kafka_conf_set(
                configuration, name, value, &message, message.count)
            guard result != RD_KAFKA_CONF_OK else { continue }
            unsafe rd_kafka_conf_destroy(configuration)
            // librdkafka repeats the value in its message.
            let reason =
                KafkaProperties.isSecret(name)
                ? "the value of \(name) is not accepted" : text(message)
            throw LogFault(
                "configure Kafka", at: settings.place, reason: reason,
                hint: "see librdkafka's CONFIGURATION.md for names and values", remedy: .stop)
        }
        return unsafe configuration
    }

    private static func setCallbacks(_ configuration: OpaquePointer, for role: Role) {
        unsafe rd_kafka_conf_set_log_cb(configuration) { client, level, facility, message in
            guard let context = unsafe RDKafkaContext.of(client), let facility = unsafe facility,
                let message = unsafe message
            else { return }
            let line = unsafe KafkaLogLine(
                level: Int(level), facility: String(cString: facility),
                message: String(cString: message))
            // A file of properties serves producers and consumers: half of them is always idle.
            if line.facility == "CONFWARN" && line.message.contains("will be ignored") { return }
            // The error that follows does not say which topic the transaction may not write to.
            if line.facility == "ADDPARTS" && !line.message.contains("not attempted") {
                context.note(trouble: line.message)
            }
            context.take(line)
        }
        switch role {
        case .producer, .inquirer:
            unsafe rd_kafka_conf_set_events(
                configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
            unsafe rd_kafka_conf_set_background_event_cb(configuration) { client, event, _ in
                defer { unsafe rd_kafka_event_destroy(event) }
                guard let context = unsafe RDKafkaContext.of(client), let event = unsafe event
                else { return }
                if unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR {
                    unsafe context.deliveries.take(event)
                } else if let text = unsafe rd_kafka_event_error_string(event) {
                    context.note(
                        trouble: unsafe String(cString: text),
                        code: unsafe rd_kafka_event_error(event))
                }
            }
        case .consumer:
            unsafe rd_kafka_conf_set_error_cb(configuration) { client, code, reason, _ in
                guard let reason = unsafe reason else { return }
                unsafe RDKafkaContext.of(client)?.note(
                    trouble: String(cString: reason), code: rd_kafka_resp_err_t(code))
            }
        case .member:
            unsafe rd_kafka_conf_set_events(
                configuration, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR)
        }
    }

    private static func text(_ message: [CChar]) -> String {
        let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
