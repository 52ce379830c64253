// What must hold of a log whatever has happened to the processes that wrote it.
import BrakeModel
import BrakeWire
import EventLog
import ProcessTestSupport
import SQLiteLog
import Testing

/// Checks of a log that nobody writes to any more.
struct Invariants {
    let log: any EventLog
    /// Markers of transactions take offsets, too, where the log writes any.
    private var hasMarkers: Bool { !(log is SQLiteLog) }

    init(log: any EventLog) { self.log = log }

    /// All that holds wherever the evaluator has stopped. Returns how many changes there are.
    func checkAll(
        _ tally: Clients.Tally, _ workplace: Workplace, at place: [String]? = nil
    ) throws -> Int {
        #expect(tally.complaints.isEmpty, "\(tally.complaints.prefix(3))")
        try checkUploads(tally)
        try checkEpochs()
        let changes = try checkRevisions()
        let policy = try workplace.write("quick.json", QuickPolicy.text)
        try checkReplay(at: place ?? [workplace.place], policy: policy)
        return changes
    }

    /// Every acknowledged event is there once; of another upload all is there once, or nothing. On
    /// Kafka its partitions are written one by one, and some of it may be there.
    func checkUploads(_ tally: Clients.Tally) throws {
        var found: [String: Set<Int64>] = [:]
        var twice: [String] = []
        let reader = DocumentReader()
        for topic in Topic.inputs {
            for record in try log.stored(topic) {
                let value = try #require(reader.read(record.value), "\(record.place) is JSON")
                for event in value.array ?? [value] {
                    let token = try #require(event["token"]?.text)
                    let number = try #require(event["n"]?.integer)
                    if !found[token, default: []].insert(number).inserted { twice.append(token) }
                }
            }
        }
        #expect(twice.isEmpty, "no event is in the log twice")
        for (token, events) in tally.acknowledged {
            // The sets themselves, so that a failure tells which are missing.
            #expect(found[token] == Set(0..<Int64(events)), "\(token) was acknowledged")
        }
        for (token, events) in tally.unanswered {
            let count = found[token]?.count ?? 0
            #expect(
                count == 0 || (hasMarkers ? count <= events : count == events),
                "\(count) of \(events) events of \(token), which had no answer")
        }
        let known = tally.acknowledged.count + tally.unanswered.count
        #expect(found.count <= known, "nothing is there that nobody has sent")
    }

    /// Epochs follow each other without a gap and never go back.
    func checkEpochs() throws {
        let all = try log.epochRecords()
        for partition in 0..<log.partitions {
            let epochs = all.filter { $0.partition == partition }
            #expect(epochs.map(\.number) == epochs.indices.map { Int64($0 + 1) })
            for (one, next) in zip(epochs, epochs.dropFirst()) {
                let isForward = EventType.allCases.allSatisfy {
                    one.offsets[$0] <= next.offsets[$0]
                }
                #expect(
                    isForward && one.clock <= next.clock && one.generation <= next.generation
                        && one.throttleEnd <= next.throttleEnd,
                    "epoch \(next.number) of partition \(partition) goes forward")
            }
            let changes = epochs.reduce(0) { $0 + $1.changes }
            let place = TopicPartition(.throttle, partition)
            let stored = try log.stored(.throttle).count { $0.place == place }
            #expect(changes == stored, "each throttle record belongs to an epoch")
        }
    }

    /// The positions are those of the last epoch, and the ends of the inputs: all is counted.
    func checkPositions() throws {
        var last: [Int: EpochRecord] = [:]
        for epoch in try log.epochRecords() { last[epoch.partition] = epoch }
        let worker = try log.makeWorker(lane: 0)
        defer { worker.close() }
        for partition in 0..<log.partitions {
            let epoch = try #require(last[partition], "partition \(partition) has epochs")
            let committed = try worker.committedPositions(partition: partition)
            for type in EventType.allCases {
                let place = TopicPartition(Topic(type), partition)
                #expect(committed[place] == epoch.offsets[type])
                #expect(try log.bounds(of: place).upperBound == epoch.offsets[type])
            }
            let end = try log.bounds(of: TopicPartition(.throttle, partition)).upperBound
            // An epoch tells the end that it has found; its own changes follow.
            let ownEnd = epoch.throttleEnd + Int64(epoch.changes)
            #expect(
                hasMarkers ? ownEnd <= end : ownEnd == end,
                "partition \(partition), epoch \(epoch.number): \(epoch.changes) changes, end \(end)"
            )
        }
    }

    /// The revisions of an app rise by one, and every change changes something. Returns how many
    /// changes there are.
    func checkRevisions() throws -> Int {
        var last: [AppID: ThrottleChange] = [:]
        let records = try log.throttleRecords()
        for record in records {
            let change = record.change
            #expect(change.revision == (last[change.app]?.revision ?? 0) + 1, "\(change.app.text)")
            if let before = last[change.app] {
                #expect(before.state != change.state && before.since < change.since)
            }
            last[change.app] = change
        }
        return records.count
    }

    /// An undisturbed replay decides the same, byte by byte; the program checks every epoch's
    /// checksum on the way.
    func checkReplay(at place: [String], policy: String) throws {
        let records = try log.throttleRecords()
        let sorted = records.sorted {
            ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app)
        }
        let published = sorted.map { String(decoding: $0.encode(), as: UTF8.self) + "\n" }.joined()
        let replay = try Child.run(["replay", "--policy", policy, "--log"] + place)
        #expect(replay.ending == .exited(0), "\(replay.complaints)")
        let (one, other) = (published.split(separator: "\n"), replay.output.split(separator: "\n"))
        let difference = zip(one, other).first { $0 != $1 }
        #expect(
            replay.output == published,
            "\(one.count) and \(other.count) records; \(difference.map { "\($0)" } ?? "")")
        for partition in 0..<log.partitions {
            let own = records.filter { $0.partition == partition }.map(\.change)
            let order = sorted.filter { $0.partition == partition }.map(\.change)
            #expect(own == order, "published in order of tick, then app")
        }
    }
}
