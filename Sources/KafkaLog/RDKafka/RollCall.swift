// Who is in a group, as its coordinator sees it.

import CRdKafka
import EventLog

/// Asks for the members of a group, with a client of its own, until it is closed. One thread owns
/// it.
///
/// When such a question runs out of time, librdkafka before 2.4 uses memory that it has freed: it
/// aborts, or its client can never be closed. So no question runs out of time while somebody waits,
/// and a client whose question nobody has answered is left to itself.
@safe
final class RollCall {
    /// The longest that librdkafka allows.
    private static let questionMilliseconds: Int32 = 3_600_000

    private let client: RDKafkaClient
    private let queue: OpaquePointer
    private var isAsking = false
    private var isClosed = false

    init(_ settings: KafkaSettings) throws(LogFault) {
        client = try RDKafkaClient(.inquirer, [:], settings: settings)
        guard let queue = unsafe rd_kafka_queue_new(client.pointer) else {
            client.close()
            throw LogFault(
                "describe the group", at: settings.place, reason: "no queue", remedy: .stop)
        }
        unsafe self.queue = queue
    }

    deinit { close() }

    /// Whether the group has a member of this static name; nil while that cannot be learnt. The
    /// answer may be to the same question of an earlier call.
    func hasMember(named name: String, of group: String, waitMilliseconds: Int) -> Bool? {
        if !isAsking { ask(group) }
        guard let event = unsafe rd_kafka_queue_poll(queue, Int32(waitMilliseconds)) else {
            return nil
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        isAsking = false
        guard unsafe rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return unsafe RollCall.isMember(name, event)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        if isAsking {
            // Kept for ever: see above. This happens once in the life of a process that is fenced.
            _ = unsafe Unmanaged.passRetained(client)
            return
        }
        unsafe rd_kafka_queue_destroy(queue)
        client.close()
    }

    private func ask(_ group: String) {
        let options = unsafe rd_kafka_AdminOptions_new(
            client.pointer, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS)
        defer { unsafe rd_kafka_AdminOptions_destroy(options) }
        unsafe rd_kafka_AdminOptions_set_request_timeout(
            options, RollCall.questionMilliseconds, nil, 0)
        unsafe group.withCString { group in
            var groups: [UnsafePointer<CChar>?] = unsafe [group]
            unsafe rd_kafka_DescribeConsumerGroups(client.pointer, &groups, 1, options, queue)
        }
        isAsking = true
    }

    @unsafe
    private static func isMember(_ name: String, _ event: OpaquePointer) -> Bool? {
        var count = 0
        let groups = unsafe rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &count)
        guard count == 1, let found = unsafe groups?[0] else { return nil }
        let error = unsafe rd_kafka_ConsumerGroupDescription_error(found)
        let state = unsafe rd_kafka_ConsumerGroupDescription_state(found)
        // A coordinator that does not know the group knows nothing of its members.
        guard unsafe error == nil || rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR,
            state != RD_KAFKA_CONSUMER_GROUP_STATE_DEAD
        else { return nil }
        let members = unsafe rd_kafka_ConsumerGroupDescription_member_count(found)
        return (0..<members).contains { index in
            let member = unsafe rd_kafka_ConsumerGroupDescription_member(found, index)
            guard let own = unsafe rd_kafka_MemberDescription_group_instance_id(member) else {
                return false
            }
            return unsafe String(cString: own) == name
        }
    }
}
