// The log as an idea: streams, tables, and the atomic commit of outputs with input positions.

/// A log of topics. All methods may be called from any thread; they block, so not from tasks.
package protocol EventLog: Sendable {
    /// P, the number of partitions of partitioned topics; fixed for the life of the log.
    var partitions: Int { get }

    /// For people: `sqlite:adbrake.db`.
    var place: String { get }

    /// Appends records and returns once the log has them all and would keep them through a
    /// crash; on a fault none or some may have been appended. The log sets append times.
    func append(_ records: [OutgoingRecord]) throws(LogFault)

    /// The first offset still there and one that the next record will not be below. The first of a
    /// table stays 0, though compaction leaves gaps.
    func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64>

    /// A reader of these partitions from these offsets; reads committed records only.
    func makeReader(from positions: [TopicPartition: Int64]) throws(LogFault) -> any LogReader

    /// Joins the group of evaluators as one of its members; lanes of a process differ in number.
    /// A member that comes with the lane of another takes its place: the older one is fenced.
    func makeWorker(lane: Int) throws(LogFault) -> any LogWorker

    /// Makes an appender of this name in place of any other, here or in another process, whose
    /// appends are fenced from here on. What that one had under way is settled: readers made after
    /// this call see all of it, or it is gone for good.
    func makeExclusiveAppender(name: String) throws(LogFault) -> any ExclusiveAppender

    /// Does one bounded slice of the upkeep that is due, retention and compaction, and returns
    /// whether more waits. A log that looks after itself has nothing to do.
    func maintain() throws(LogFault) -> Bool

    /// Ends all waits of polls, now and from now on, so that stages see that they shall stop.
    /// Everything else goes on working.
    func interrupt()

    /// Releases what it holds; readers and workers are closed before, and no call may follow.
    func close()
}

extension EventLog {
    /// How many partitions the topic has.
    package func partitionCount(of topic: Topic) -> Int { topic.isPartitioned ? partitions : 1 }

    /// The partitions of the topic.
    package func places(of topic: Topic) -> [TopicPartition] {
        (0..<partitionCount(of: topic)).map { TopicPartition(topic, $0) }
    }
}

/// Follows partitions on behalf of one thread.
package protocol LogReader: AnyObject {
    /// Where it will read next, for each of its partitions. Rises past gaps, too.
    var positions: [TopicPartition: Int64] { get }

    /// Partitions that polls leave out, as neither waiting nor ended.
    var held: Set<TopicPartition> { get set }

    /// Refills the batch with records, each partition in order of offset, at most as many bytes as
    /// the batch allows; waits up to the time given when there are none. Every partition with
    /// records waiting gets its turn.
    ///
    /// Faults: an offset that is no longer there stops, it is never skipped.
    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome

    /// Releases what it holds; no other call may follow.
    func close()
}

/// What a poll has shown.
package struct PollOutcome: Sendable {
    /// The partitions in which nothing waited beyond this batch, when the log was asked.
    package var ended: Set<TopicPartition>
    /// A wall clock time, ms since 1970, taken before the log was asked: what was appended to the
    /// ended partitions before it is in this batch or was in an earlier one.
    package var asOf: Int64
    /// Whether partitions are to be given or taken: finish the epoch, then `pollAssignment`.
    package var assignmentWaits: Bool

    package init(ended: Set<TopicPartition>, asOf: Int64, assignmentWaits: Bool = false) {
        self.ended = ended
        self.asOf = asOf
        self.assignmentWaits = assignmentWaits
    }
}

/// One member of the group of evaluators: reads the inputs of the partitions assigned to it and
/// commits epochs. One thread owns it.
package protocol LogWorker: AnyObject {
    /// Rises with every assignment in which partitions change hands; part of every epoch record.
    var generation: Int64 { get }

    /// Waits for changes of the assignment; to be called between epochs only.
    ///
    /// Revoked partitions are read no more, but stay this member's until the next call, so that
    /// the open epoch can still be committed. Calling again gives them away.
    func pollAssignment(waitMilliseconds: Int) throws(LogFault) -> AssignmentChange?

    /// The committed input positions of a partition group; an input never committed is absent.
    func committedPositions(partition: Int) throws(LogFault) -> [TopicPartition: Int64]

    /// Starts reading the four inputs of a restored partition group at these positions; an input
    /// that is absent is read from the first record still there.
    func start(partition: Int, at positions: [TopicPartition: Int64]) throws(LogFault)

    /// Inputs that polls leave out, as neither waiting nor ended: of these so much has been read
    /// that the others have to catch up first.
    var held: Set<TopicPartition> { get set }

    /// As `LogReader.poll`, over the inputs of all started partitions that are not held. Returns
    /// early when the assignment is about to change.
    func poll(into batch: LogBatch, waitMilliseconds: Int) throws(LogFault) -> PollOutcome

    /// Commits outputs with input positions: all of it or nothing, and only while the partitions
    /// are still this member's. Returns the offset after the last record of each output partition.
    /// Thrown with remedy `retry`: call again with the same arguments, whether it took effect or
    /// not; it takes effect once.
    func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64]

    /// Leaves the group and releases what it holds; no other call may follow.
    func close()
}

/// Partition groups given or taken.
package enum AssignmentChange: Sendable, Equatable {
    case assigned([Int])
    case revoked([Int])
}
