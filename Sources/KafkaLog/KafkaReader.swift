// A reader of a Kafka log: a fetcher, and the log's wish to stop.

import EventLog

/// Follows partitions without a group.
final class KafkaReader: LogReader {
    private let fetcher: PartitionFetcher
    private let interruption: Interruption

    init(
        _ settings: KafkaSettings, _ inquiry: ClusterInquiry, _ interruption: Interruption,
        from positions: [TopicPartition: Int64]
    ) throws(LogFault) {
        self.interruption = interruption
        fetcher = try PartitionFetcher(settings, inquiry, partitionCount: positions.count)
        interruption.add(fetcher.wakeUp)
        for (place, position) in positions.sorted(by: { $0.key < $1.key }) {
            try fetcher.follow(place, from: position)
        }
    }

    deinit { interruption.remove(fetcher.wakeUp) }

    var positions: [TopicPartition: Int64] { fetcher.positions }

    var held: Set<TopicPartition> {
        get { fetcher.held }
        set { fetcher.held = newValue }
    }

    /// How often a partition stood still and was fetched anew.
    var restarts: Int { fetcher.restarts }

    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome {
        try fetcher.poll(into: batch, waitMilliseconds: waitMilliseconds) {
            interruption.isRaised
        }
    }

    func close() { fetcher.close() }
}
