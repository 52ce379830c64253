// Who is in a group, as its coordinator tells.

import CRdKafka

enum GroupDescription {
    /// Whether the group has a member of this static name; nil while that cannot be learnt.
    static func hasMember(
        named name: String, of group: String, asking client: RDKafkaClient,
        timeoutMilliseconds: Int
    ) -> Bool? {
        let event = unsafe try? TopicAdministration.ask(
            client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeoutMilliseconds
        ) { options, queue in
            unsafe group.withCString { group in
                var groups: [UnsafePointer<CChar>?] = unsafe [group]
                unsafe rd_kafka_DescribeConsumerGroups(
                    client.pointer, &groups, 1, options, queue)
            }
        }
        guard let event = unsafe event else { return nil }
        defer { unsafe rd_kafka_event_destroy(event) }
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
