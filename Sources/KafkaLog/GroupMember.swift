// Membership in the group of evaluators, and nothing else: what is assigned is fetched elsewhere,
// so that a rebalance or a stuck fetch leaves the other alone.

import CRdKafka
import EventLog

/// A static member of the group. One thread owns it; heartbeats are librdkafka's.
@safe
final class GroupMember {
    static let sessionMilliseconds = 10_000
    static let heartbeatMilliseconds = 1_000
    /// Between two calls of a lane; a longer silence is taken for its death.
    static let pollMillisecondsMax = 120_000

    enum Change {
        /// By topic, the partitions given.
        case assign([String: Set<Int>])
        /// Lost: somebody else may have them already.
        case revoke(isLost: Bool)
    }

    /// What was committed for an input.
    struct Committed {
        var offset: Int64
        var note: String?
    }

    let client: RDKafkaClient
    private let settings: KafkaSettings
    private let queue: OpaquePointer
    private let wakeUp: WakeUp
    private var isClosed = false

    /// `wakeUp` is roused when a change waits.
    init(_ settings: KafkaSettings, lane: Int, wakeUp: WakeUp) throws(LogFault) {
        self.settings = settings
        client = try RDKafkaClient(
            .member,
            [
                "group.id": settings.group,
                "group.instance.id": settings.laneName(lane),
                "partition.assignment.strategy": "range",
                "isolation.level": "read_committed",
                "enable.auto.commit": "false",
                "enable.auto.offset.store": "false",
                "auto.offset.reset": "error",
                "session.timeout.ms": "\(GroupMember.sessionMilliseconds(settings))",
                "heartbeat.interval.ms": settings.properties["heartbeat.interval.ms"]
                    ?? "\(GroupMember.heartbeatMilliseconds)",
                "max.poll.interval.ms": settings.properties["max.poll.interval.ms"]
                    ?? "\(GroupMember.pollMillisecondsMax)",
            ], settings: settings)
        unsafe rd_kafka_poll_set_consumer(client.pointer)
        guard let queue = unsafe rd_kafka_queue_get_consumer(client.pointer) else {
            client.close()
            throw LogFault("join the group", at: settings.place, reason: "no queue", remedy: .stop)
        }
        unsafe self.queue = queue
        self.wakeUp = wakeUp
        unsafe wakeUp.attach(queue)
        let topics = RDKafkaPartitionList(capacity: Topic.inputs.count)
        for topic in Topic.inputs { topics.add(settings.name(of: topic), -1, offset: 0) }
        let code = unsafe rd_kafka_subscribe(client.pointer, topics.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw RDKafkaError(code: code).fault("join the group", at: place)
        }
    }

    deinit { close() }

    /// After so long a silence the group gives a member up.
    static func sessionMilliseconds(_ settings: KafkaSettings) -> Int {
        settings.properties["session.timeout.ms"].flatMap { Int($0) } ?? sessionMilliseconds
    }

    private var place: String { "\(settings.place) group \(settings.group)" }

    /// Waits for the next change of the assignment.
    func nextChange(waitMilliseconds: Int) throws(LogFault) -> Change? {
        guard let event = unsafe rd_kafka_queue_poll(queue, Int32(waitMilliseconds)) else {
            return nil
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        let code = unsafe rd_kafka_event_error(event)
        guard unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE else {
            let text = unsafe rd_kafka_event_error_string(event).map { unsafe String(cString: $0) }
            try heed(code, text: text ?? "")
            return nil
        }
        guard code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS else {
            return .revoke(isLost: unsafe rd_kafka_assignment_lost(client.pointer) != 0)
        }
        var assigned: [String: Set<Int>] = [:]
        if let list = unsafe rd_kafka_event_topic_partition_list(event) {
            for element in unsafe RDKafkaPartitionList.elements(of: list) {
                assigned[element.topic, default: []].insert(Int(element.partition))
            }
        }
        return .assign(assigned)
    }

    /// Tells the group that an assignment was taken. Empty for librdkafka, which shall fetch
    /// nothing: membership does not hang on it.
    func accept() throws(LogFault) {
        let nothing = RDKafkaPartitionList(capacity: 1)
        let code = unsafe rd_kafka_assign(client.pointer, nothing.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw RDKafkaError(code: code).fault("accept partitions", at: place)
        }
    }

    /// Gives up what was revoked, which lets the rebalance go on.
    func giveUp() throws(LogFault) {
        let code = unsafe rd_kafka_assign(client.pointer, nil)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw RDKafkaError(code: code).fault("give partitions up", at: place)
        }
    }

    /// The committed offsets once no transaction is about to change them; absent where none is.
    func committed(
        _ places: [TopicPartition], timeoutMilliseconds: Int
    ) throws(LogFault) -> [TopicPartition: Committed] {
        guard !places.isEmpty else { return [:] }
        let list = RDKafkaPartitionList(capacity: places.count)
        for place in places { list.add(settings.name(of: place.topic), place.partition, offset: 0) }
        let code = unsafe rd_kafka_committed(
            client.pointer, list.pointer, Int32(timeoutMilliseconds))
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw RDKafkaError(code: code).fault(
                "read committed offsets", at: place, trouble: client.context.lastTrouble)
        }
        var found: [TopicPartition: Committed] = [:]
        for (place, element) in zip(places, list.elements) {
            guard element.code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw RDKafkaError(code: element.code).fault(
                    "read committed offsets", at: settings.place(of: place))
            }
            if element.offset >= 0 {
                found[place] = Committed(offset: element.offset, note: element.note)
            }
        }
        return found
    }

    /// What proves our place in the group to the coordinator, with its generation; to be taken anew
    /// for each commit. Nil while the member is in no generation.
    @unsafe
    static func metadata(
        of client: RDKafkaClient
    ) -> (metadata: OpaquePointer, generation: Int64)? {
        guard let metadata = unsafe rd_kafka_consumer_group_metadata(client.pointer) else {
            return nil
        }
        guard let generation = unsafe GroupMember.generation(of: metadata), generation >= 0 else {
            unsafe rd_kafka_consumer_group_metadata_destroy(metadata)
            return nil
        }
        return unsafe (metadata, generation)
    }

    /// The group's generation; nil while the member is in none.
    var generation: Int64? {
        guard let (metadata, generation) = unsafe GroupMember.metadata(of: client) else {
            return nil
        }
        unsafe rd_kafka_consumer_group_metadata_destroy(metadata)
        return generation
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        unsafe WakeUp.detach(queue)
        unsafe rd_kafka_queue_destroy(queue)
        client.close()
    }

    /// The library of Debian 12 has no function that tells the generation, but its serialised form
    /// does: a name of seven bytes, then the number in the machine's order.
    @unsafe
    private static func generation(of metadata: OpaquePointer) -> Int64? {
        let name = Array("CGMDv2:".utf8)
        var buffer: UnsafeMutableRawPointer? = nil
        var size = 0
        guard
            let size = {
                let error = unsafe RDKafkaError(
                    taking: rd_kafka_consumer_group_metadata_write(metadata, &buffer, &size))
                return error == nil ? size : nil
            }()
        else { return nil }
        defer { unsafe rd_kafka_mem_free(nil, buffer) }
        let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size)
        guard bytes.count >= name.count + 4, unsafe bytes.prefix(name.count).elementsEqual(name)
        else { return nil }
        return unsafe Int64(bytes.loadUnaligned(fromByteOffset: name.count, as: Int32.self))
    }

    private func heed(_ code: rd_kafka_resp_err_t, text: String) throws(LogFault) {
        var error = RDKafkaError(code: code, text: text)
        if code == RD_KAFKA_RESP_ERR__FATAL {
            var message = [CChar](repeating: 0, count: 512)
            let cause = unsafe rd_kafka_fatal_error(client.pointer, &message, message.count)
            error = RDKafkaError(code: cause)
            // A member that is beyond repair has lost its partitions, whatever the cause.
            if error.kind == .fatal || error.kind == .retriable {
                error = RDKafkaError(code: cause, kind: .lost)
            }
        }
        switch error.kind {
        case .retriable, .abortable, .fatal:
            client.context.note(trouble: text)
        case .permanent where code == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
            // The revocation that follows says it all.
            client.context.note(trouble: text)
        case .fenced, .lost, .authorization, .permanent:
            throw error.fault("stay in the group", at: place)
        }
    }
}

extension KafkaSettings {
    /// The group of evaluators.
    var group: String { prefix + "evaluate" }

    /// Names one lane of one process, for the group and for transactions.
    func laneName(_ lane: Int) -> String { "\(prefix)\(instance)-\(lane)" }
}
