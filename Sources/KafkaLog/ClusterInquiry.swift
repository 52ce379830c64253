// Questions to the cluster that several threads ask: which topics there are, and where partitions
// end. Ends are those of a `read_uncommitted` reader: what an open transaction holds back waits
// too.

import CRdKafka
import EventLog
import Glibc
import Synchronization

/// A client that only asks.
final class ClusterInquiry: Sendable {
    /// What the cluster says of a topic.
    struct TopicDescription {
        var partitions: Int
        /// The fewest replicas of any of its partitions.
        var replicas: Int
    }

    /// Between two questions for the leaders of all partitions, and how long each may take.
    private static let refreshPauseMilliseconds: Int64 = 500
    private static let refreshMilliseconds = 250
    private static let describeMilliseconds = 5_000

    let client: RDKafkaClient
    private let settings: KafkaSettings
    private let nextRefresh = Mutex<Int64>(0)

    /// `isCommitted`: the ends are those of a `read_committed` reader.
    init(_ settings: KafkaSettings, isCommitted: Bool = false) throws(LogFault) {
        self.settings = settings
        client = try RDKafkaClient(
            .inquirer,
            [
                "isolation.level": isCommitted ? "read_committed" : "read_uncommitted",
                "topic.metadata.refresh.interval.ms": "30000",
            ], settings: settings)
    }

    func close() { client.close() }

    /// Waits for any broker, and says so now and then; returns the names of all brokers.
    func waitForBroker(timeoutMilliseconds: Int) throws(LogFault) -> [String] {
        let start = LogClock.steady.now()
        while true {
            let waited = Int(LogClock.steady.now() - start)
            let remaining = timeoutMilliseconds - waited
            let answer = Result { () throws(RDKafkaError) in
                try metadata(of: nil, timeoutMilliseconds: max(1, min(remaining, 5_000)))
            }
            switch answer {
            case .success(let found): return found.brokers
            case .failure(let error):
                let trouble = client.context.lastTrouble
                guard error.kind == .retriable, remaining > 0 else {
                    throw error.fault("connect to Kafka", at: settings.place, trouble: trouble)
                }
                settings.log(
                    KafkaLogLine(
                        level: 4, facility: "CONNECT",
                        message: "waiting for Kafka at \(settings.bootstrap) since "
                            + "\(waited) ms: \(trouble ?? error.text)"))
            }
        }
    }

    /// What there is of these topics; absent are those that do not exist.
    func describe(
        _ topics: [Topic], timeoutMilliseconds: Int
    ) throws(LogFault) -> [Topic: TopicDescription] {
        let found: Metadata
        do {
            found = try metadata(of: nil, timeoutMilliseconds: timeoutMilliseconds)
        } catch {
            throw error.fault(
                "describe topics", at: settings.place, trouble: client.context.lastTrouble)
        }
        var descriptions: [Topic: TopicDescription] = [:]
        for topic in topics {
            // The list leaves out what we may not see, as if it were not there: asked by its name,
            // the cluster says which of both it is.
            var entry = found.topics[settings.name(of: topic)]
            if entry == nil {
                entry = try named(topic, timeoutMilliseconds: timeoutMilliseconds)
            }
            guard let entry else { continue }
            guard entry.code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                if entry.code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART { continue }
                throw RDKafkaError(code: entry.code).fault(
                    "describe topics", at: settings.place(of: topic))
            }
            descriptions[topic] = TopicDescription(
                partitions: entry.partitions, replicas: entry.replicas)
        }
        return descriptions
    }

    private func named(
        _ topic: Topic, timeoutMilliseconds: Int
    ) throws(LogFault) -> Metadata.Entry? {
        do {
            let found = try metadata(of: topic, timeoutMilliseconds: timeoutMilliseconds)
            return found.topics[settings.name(of: topic)]
        } catch {
            throw error.fault(
                "describe topics", at: settings.place(of: topic),
                trouble: client.context.lastTrouble)
        }
    }

    /// The first offset still there and the next one to be given.
    func bounds(
        of place: TopicPartition, timeoutMilliseconds: Int
    ) throws(LogFault) -> Range<Int64> {
        let deadline = LogClock.steady.now() + Int64(timeoutMilliseconds)
        // Not by the library's own question for both: after a broker's error its version 2.16 takes
        // the end for the beginning.
        let low = try offset(of: place, at: RD_KAFKA_OFFSET_BEGINNING, deadline: deadline)
        let high = try offset(of: place, at: RD_KAFKA_OFFSET_END, deadline: deadline)
        return low..<max(low, high)
    }

    /// Where a partition begins or ends, asked again until the deadline.
    private func offset(
        of place: TopicPartition, at mark: Int32, deadline: Int64
    ) throws(LogFault) -> Int64 {
        while true {
            let left = max(1, deadline - LogClock.steady.now())
            let error: RDKafkaError
            do {
                return try settings.offsets(
                    of: [place], at: mark, asking: client, timeoutMilliseconds: Int(left)
                )[0].get()
            } catch let failure {
                error = failure
            }
            // A partition that has just been made, or has lost its leader, has one soon.
            guard error.kind == .retriable || error.isUnknownPlace,
                LogClock.steady.now() < deadline
            else {
                throw try confirmed(error, of: [place]).fault(
                    "ask for bounds", at: settings.place(of: place),
                    trouble: client.context.lastTrouble)
            }
            refreshLeaders()
            usleep(20_000)
        }
    }

    /// A partition that the client knows nothing of may still be there, without a leader; and right
    /// after a broker was out of reach its picture of the cluster has holes. Whether one is gone,
    /// the cluster says.
    func confirmed(
        _ error: RDKafkaError, of places: [TopicPartition]
    ) throws(LogFault) -> RDKafkaError {
        guard error.isUnknownPlace else { return error }
        let found = try describe(
            Set(places.map(\.topic)).sorted { $0.rawValue < $1.rawValue },
            timeoutMilliseconds: ClusterInquiry.describeMilliseconds)
        let areThere = places.allSatisfy { place in
            found[place.topic].map { place.partition < $0.partitions } ?? false
        }
        guard areThere else { return error }
        return RDKafkaError(
            code: RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, text: "a partition has no leader")
    }

    /// The offsets that come next in these partitions, in one round trip to each broker; absent are
    /// partitions of which nobody knew.
    func ends(
        of places: [TopicPartition], timeoutMilliseconds: Int
    ) throws(RDKafkaError) -> [TopicPartition: Int64] {
        do {
            let ends = try settings.ends(
                of: places, asking: client, timeoutMilliseconds: timeoutMilliseconds)
            if ends.count < places.count { refreshLeaders() }
            return ends
        } catch {
            if error.kind == .retriable { refreshLeaders() }
            throw error
        }
    }

    /// Learns who leads what, after a question that found no answer. The library would go on asking
    /// brokers that lead no more until its picture of the cluster expires, after many minutes: it
    /// renews that by itself only for topics that it produces to or consumes.
    private func refreshLeaders() {
        let now = LogClock.steady.now()
        let isDue = nextRefresh.withLock { next in
            guard now >= next else { return false }
            next = now + ClusterInquiry.refreshPauseMilliseconds
            return true
        }
        guard isDue else { return }
        _ = try? metadata(of: nil, timeoutMilliseconds: ClusterInquiry.refreshMilliseconds)
    }

    private struct Metadata {
        var brokers: [String]
        typealias Entry = (partitions: Int, replicas: Int, code: rd_kafka_resp_err_t)
        var topics: [String: Entry]
    }

    /// Of one topic, or of all that we may see.
    private func metadata(
        of topic: Topic?, timeoutMilliseconds: Int
    ) throws(RDKafkaError) -> Metadata {
        var handle: OpaquePointer? = nil
        if let topic {
            guard
                let made = unsafe rd_kafka_topic_new(
                    client.pointer, settings.name(of: topic), nil)
            else { throw RDKafkaError.last() }
            unsafe handle = made
        }
        defer { if let handle = unsafe handle { unsafe rd_kafka_topic_destroy(handle) } }
        var raw: UnsafePointer<rd_kafka_metadata>? = nil
        let code = unsafe rd_kafka_metadata(
            client.pointer, topic == nil ? 1 : 0, handle, &raw, Int32(timeoutMilliseconds))
        try RDKafkaError.check(code)
        guard let raw = unsafe raw else { throw RDKafkaError(code: RD_KAFKA_RESP_ERR__FAIL) }
        defer { unsafe rd_kafka_metadata_destroy(raw) }
        var found = Metadata(brokers: [], topics: [:])
        for index in 0..<Int(unsafe raw.pointee.broker_cnt) {
            let broker = unsafe raw.pointee.brokers[index]
            found.brokers.append(unsafe "\(String(cString: broker.host)):\(broker.port)")
        }
        for index in 0..<Int(unsafe raw.pointee.topic_cnt) {
            let topic = unsafe raw.pointee.topics[index]
            let partitions = Int(unsafe topic.partition_cnt)
            let replicas = (0..<partitions).map {
                unsafe Int(topic.partitions[$0].replica_cnt)
            }
            found.topics[unsafe String(cString: topic.topic)] = unsafe (
                partitions, replicas.min() ?? 0, topic.err
            )
        }
        return found
    }
}

extension KafkaSettings {
    func name(of topic: Topic) -> String { prefix + topic.name }

    func place(of topic: Topic) -> String { "\(place) \(name(of: topic))" }

    func place(of place: TopicPartition) -> String {
        "\(self.place(of: place.topic))[\(place.partition)]"
    }

    /// Where these partitions end for the readers of the client's isolation level; absent are those
    /// of which nobody knew.
    func ends(
        of places: [TopicPartition], asking client: RDKafkaClient, timeoutMilliseconds: Int
    ) throws(RDKafkaError) -> [TopicPartition: Int64] {
        // Sorted by topic: librdkafka groups only neighbours into one entry of the request.
        let places = places.sorted()
        let answers = try offsets(
            of: places, at: RD_KAFKA_OFFSET_END, asking: client,
            timeoutMilliseconds: timeoutMilliseconds)
        var ends: [TopicPartition: Int64] = [:]
        for case (let place, .success(let end)) in zip(places, answers) { ends[place] = end }
        return ends
    }

    /// Where each of these partitions begins or ends, in their order. As a time, either mark of
    /// librdkafka's is where the first record is, or where the next will be.
    fileprivate func offsets(
        of places: [TopicPartition], at mark: Int32, asking client: RDKafkaClient,
        timeoutMilliseconds: Int
    ) throws(RDKafkaError) -> [Result<Int64, RDKafkaError>] {
        guard !places.isEmpty else { return [] }
        let list = RDKafkaPartitionList(capacity: places.count)
        for place in places {
            list.add(name(of: place.topic), place.partition, offset: Int64(mark))
        }
        try RDKafkaError.check(
            unsafe rd_kafka_offsets_for_times(
                client.pointer, list.pointer, Int32(timeoutMilliseconds)))
        return list.elements.map { element in
            guard element.code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                return .failure(RDKafkaError(code: element.code))
            }
            return element.offset >= 0
                ? .success(element.offset)
                : .failure(RDKafkaError(code: RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE))
        }
    }
}
