// librdkafka's requests to administer topics, as plain calls that wait for the answer.

import CRdKafka

/// Creates topics and reads settings.
enum TopicAdministration {
    struct NewTopic {
        var name: String
        var partitions: Int
        var replicas: Int
        var settings: [String: String]
    }

    struct Refusal: Error {
        var error: RDKafkaError
        var topic: String?
    }

    /// A topic that somebody else has made in the meantime is as good as one made here.
    static func create(
        _ topics: [NewTopic], asking client: RDKafkaClient, timeoutMilliseconds: Int
    ) throws(Refusal) {
        var requests: [OpaquePointer?] = unsafe []
        defer { unsafe requests.forEach { unsafe rd_kafka_NewTopic_destroy($0) } }
        for topic in topics {
            var message = [CChar](repeating: 0, count: 512)
            let request = unsafe rd_kafka_NewTopic_new(
                topic.name, Int32(topic.partitions), Int32(topic.replicas), &message,
                message.count)
            guard let request = unsafe request else {
                let bytes = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                throw Refusal(
                    error: RDKafkaError(
                        code: RD_KAFKA_RESP_ERR__INVALID_ARG,
                        text: String(decoding: bytes, as: UTF8.self)),
                    topic: topic.name)
            }
            unsafe requests.append(request)
            for (name, value) in topic.settings.sorted(by: { $0.key < $1.key }) {
                unsafe rd_kafka_NewTopic_set_config(request, name, value)
            }
        }
        let answer = unsafe Result { () throws(RDKafkaError) in
            try unsafe ask(
                client, RD_KAFKA_ADMIN_OP_CREATETOPICS, timeoutMilliseconds
            ) { options, queue in
                let count = unsafe requests.count
                unsafe rd_kafka_CreateTopics(client.pointer, &requests, count, options, queue)
            }
        }
        let event: OpaquePointer
        switch unsafe answer {
        case .success(let given): unsafe event = given
        case .failure(let error): throw Refusal(error: error, topic: nil)
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        var count = 0
        let results = unsafe rd_kafka_CreateTopics_result_topics(
            rd_kafka_event_CreateTopics_result(event), &count)
        for index in 0..<count {
            let result = unsafe results?[index]
            let code = unsafe rd_kafka_topic_result_error(result)
            guard
                code != RD_KAFKA_RESP_ERR_NO_ERROR
                    && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS
            else { continue }
            let text = unsafe rd_kafka_topic_result_error_string(result).map {
                unsafe String(cString: $0)
            }
            throw Refusal(
                error: RDKafkaError(code: code, text: text),
                topic: unsafe String(cString: rd_kafka_topic_result_name(result)))
        }
    }

    /// The settings of topics or brokers, by name of the resource.
    static func settings(
        _ type: rd_kafka_ResourceType_t, _ names: [String], asking client: RDKafkaClient,
        timeoutMilliseconds: Int
    ) throws(Refusal) -> [String: [String: String]] {
        guard !names.isEmpty else { return [:] }
        var resources: [OpaquePointer?] = unsafe names.map {
            unsafe rd_kafka_ConfigResource_new(type, $0)
        }
        defer { unsafe resources.forEach { unsafe rd_kafka_ConfigResource_destroy($0) } }
        let event: OpaquePointer
        do {
            unsafe event = try unsafe ask(
                client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeoutMilliseconds
            ) { options, queue in
                let count = unsafe resources.count
                unsafe rd_kafka_DescribeConfigs(client.pointer, &resources, count, options, queue)
            }
        } catch {
            throw Refusal(error: error, topic: nil)
        }
        defer { unsafe rd_kafka_event_destroy(event) }
        var count = 0
        let described = unsafe rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &count)
        var found: [String: [String: String]] = [:]
        for index in 0..<count {
            guard let resource = unsafe described?[index] else { continue }
            let name = unsafe String(cString: rd_kafka_ConfigResource_name(resource))
            do {
                try RDKafkaError.check(unsafe rd_kafka_ConfigResource_error(resource))
            } catch {
                throw Refusal(error: error, topic: name)
            }
            var entryCount = 0
            let entries = unsafe rd_kafka_ConfigResource_configs(resource, &entryCount)
            for entryIndex in 0..<entryCount {
                guard let entry = unsafe entries?[entryIndex],
                    let value = unsafe rd_kafka_ConfigEntry_value(entry)
                else { continue }
                let setting = unsafe String(cString: rd_kafka_ConfigEntry_name(entry))
                found[name, default: [:]][setting] = unsafe String(cString: value)
            }
        }
        return found
    }

    /// Sends a request and waits for its answer, which the caller frees.
    @unsafe
    static func ask(
        _ client: RDKafkaClient, _ operation: rd_kafka_admin_op_t, _ timeoutMilliseconds: Int,
        _ send: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
    ) throws(RDKafkaError) -> OpaquePointer {
        let options = unsafe rd_kafka_AdminOptions_new(client.pointer, operation)
        defer { unsafe rd_kafka_AdminOptions_destroy(options) }
        unsafe rd_kafka_AdminOptions_set_request_timeout(
            options, Int32(timeoutMilliseconds), nil, 0)
        let queue = unsafe rd_kafka_queue_new(client.pointer)
        defer { unsafe rd_kafka_queue_destroy(queue) }
        unsafe send(options, queue)
        let event = unsafe rd_kafka_queue_poll(queue, Int32(timeoutMilliseconds) + 1_000)
        guard let event = unsafe event else {
            throw RDKafkaError(code: RD_KAFKA_RESP_ERR__TIMED_OUT)
        }
        let code = unsafe rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let text = unsafe rd_kafka_event_error_string(event).map { unsafe String(cString: $0) }
            unsafe rd_kafka_event_destroy(event)
            throw RDKafkaError(code: code, text: text)
        }
        return unsafe event
    }
}
