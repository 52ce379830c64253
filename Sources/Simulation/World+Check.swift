// What must hold of the log, and of every edge, once all is quiet.

import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Serve

extension World {
    func check() {
        do {
            let partitions = try (0..<log.partitions).map {
                try PartitionRecords(log.memory, $0, deleted: deleted, without: forged)
            }
            var notices: [[UInt8]] = []
            var letters: [[UInt8]] = []
            for records in partitions {
                checkEpochs(records)
                checkRevisions(records)
                let recount = recount(records)
                notices += recount.notices
                letters += recount.letters
                for finding in recount.findings { find(finding) }
                checkSnapshots(records)
                figures.epochs += records.epochs.count
                figures.changes += records.throttle.count
                figures.snapshots += records.snapshots.count
            }
            try check("notices", notices, .notice)
            try check("dead letters", letters, .dead)
            // A replay begins with the first record, and says so where that is gone.
            if deleted.isEmpty { try checkReplay(partitions) }
            checkEdges(partitions)
            checkStress()
        } catch {
            find("the log cannot be read: \(error)")
        }
    }

    /// Epochs have no gap and go forwards, and their offsets are those that are committed.
    private func checkEpochs(_ records: PartitionRecords) {
        let place = "partition \(records.partition)"
        for (index, epoch) in records.epochs.enumerated() where epoch.number != index + 1 {
            return find("\(place): epoch \(epoch.number) stands at place \(index + 1)")
        }
        for (one, next) in zip(records.epochs, records.epochs.dropFirst()) {
            let isBehind = EventType.allCases.contains { next.offsets[$0] < one.offsets[$0] }
            if isBehind || next.clock < one.clock || next.generation < one.generation {
                find("\(place): epoch \(next.number) goes back behind epoch \(one.number)")
            }
        }
        guard let last = records.epochs.last else { return find("\(place) has no epoch") }
        let committed = log.memory.makeWorker(lane: -1)
        defer { committed.close() }
        let positions = try? committed.committedPositions(partition: records.partition)
        for type in EventType.allCases {
            let input = TopicPartition(Topic.inputs[Int(type.rawValue)], records.partition)
            if positions?[input] != last.offsets[type] {
                find("\(input) is not committed as epoch \(last.number) tells")
            }
        }
        if last.throttleEnd > log.memory.bounds(of: .init(.throttle, records.partition)).upperBound
        {
            find("\(place): epoch \(last.number) points beyond the end of throttle")
        }
    }

    /// Revisions rise by one for each app, and its states begin one after the other.
    private func checkRevisions(_ records: PartitionRecords) {
        var last: [AppID: ThrottleChange] = [:]
        for (_, record) in records.throttle {
            let change = record.change
            let before = last.updateValue(change, forKey: change.app)
            let isNext =
                change.revision == (before?.revision ?? 0) + 1
                && change.since > before?.since ?? .min
            if !isNext {
                find(
                    "\(change.app.text): revision \(change.revision) since \(change.since) follows "
                        + "\(before?.revision ?? 0) since \(before?.since ?? 0)")
            }
        }
    }

    private func recount(_ records: PartitionRecords) -> Recount {
        var recount = Recount(
            records, policy: circumstances.settings.policy,
            limits: circumstances.settings.limits)
        recount.runAll()
        figures.events += recount.tallies.events
        figures.stragglers += recount.tallies.stragglers
        return recount
    }

    /// One snapshot that is whole, of those that epochs point to, with all that came after it.
    private func checkSnapshots(_ records: PartitionRecords) {
        let place = TopicPartition(.snapshot, records.partition)
        var pointers: [Int64: EpochRecord.SnapshotPointer] = [:]
        for epoch in records.epochs {
            for pointer in epoch.snapshots { pointers[pointer.epoch] = pointer }
        }
        let all = pointers.values.sorted { $0.epoch < $1.epoch }
        guard !all.isEmpty else { return }
        let pointer = random.pick(all)
        var image = SnapshotImage(
            partition: records.partition, epoch: pointer.epoch, chunks: pointer.chunks,
            bytes: pointer.bytes)
        do {
            for index in 0..<pointer.chunks {
                let chunk = records.snapshots[pointer.offset + Int64(index)] ?? []
                unsafe try chunk.withUnsafeBytes { unsafe try image.append($0) }
            }
            var recount = Recount(
                records, policy: circumstances.settings.policy,
                limits: circumstances.settings.limits)
            recount.run(from: pointer, image: try image.finish())
            for finding in recount.findings {
                find("from the snapshot of epoch \(pointer.epoch): \(finding)")
            }
        } catch {
            let offsets = pointer.offset..<pointer.offset + Int64(pointer.chunks)
            if !offsets.contains(where: { damaged.contains(.init(place: place, offset: $0)) }) {
                find("the snapshot of epoch \(pointer.epoch) is broken: \(error)")
            }
        }
    }

    /// A topic holds exactly these values, in whatever order.
    private func check(_ title: String, _ expected: [[UInt8]], _ topic: Topic) throws {
        var counts: [[UInt8]: Int] = [:]
        for value in expected { counts[value, default: 0] += 1 }
        try PartitionRecords.read(log.memory, TopicPartition(topic, 0)) { record in
            counts[record.valueBytes ?? [], default: 0] -= 1
        }
        let wrong = counts.filter { $0.value != 0 }
        guard let example = wrong.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else {
            return
        }
        find(
            "\(wrong.count) \(title) are missing or too many, as \(-example.value) of "
                + String(decoding: example.key, as: UTF8.self))
    }

    /// The product's own replay of the log gives what was published, byte by byte.
    private func checkReplay(_ partitions: [PartitionRecords]) throws {
        let replay = LogReplay(
            log: log.memory, policy: circumstances.settings.policy,
            limits: circumstances.settings.limits)
        var published = partitions.flatMap(\.throttle)
        published.sort {
            ($0.record.change.since, $0.record.change.app)
                < ($1.record.change.since, $1.record.change.app)
        }
        let expected = published.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
        if try replay.run().output != expected {
            find("a replay of the log gives other records")
        }
    }

    /// Every edge has the last stress of every app.
    private func checkStress() {
        var last: [AppID: StressIndex] = [:]
        let documents = DocumentReader()
        for place in log.places(of: .stress) {
            try? PartitionRecords.read(log.memory, place) { record in
                guard let app = AppID(String(decoding: record.keyBytes ?? [], as: UTF8.self))
                else { return }
                last[app] = unsafe try record.value.map {
                    unsafe try StressRecord.decode($0, with: documents).index
                }
            }
        }
        figures.stressed += last.count
        for index in followers.indices {
            let image = followers[index].edge.table.image
            for app in workload.appIDs where image.stress(of: app) != last[app] {
                find("edge \(index) does not have the stress of \(app.text)")
            }
        }
    }

    /// Every edge serves the last state of every app.
    private func checkEdges(_ partitions: [PartitionRecords]) {
        var last: [AppID: ThrottleChange] = [:]
        for (_, record) in partitions.flatMap(\.throttle) {
            last[record.change.app] = record.change
        }
        for index in followers.indices {
            for app in workload.appIDs {
                let served = served(app, by: index)
                let isSame =
                    served.revision == last[app]?.revision ?? 0
                    && served.state == last[app]?.state ?? ServedState.fallback
                if !isSame {
                    find(
                        "edge \(index) serves \(app.text) in \(served.state.name), revision "
                            + "\(served.revision), instead of "
                            + (last[app].map { "\($0.state.name), \($0.revision)" } ?? "unknown"))
                }
            }
        }
    }
}

extension World {
    /// Stands for every byte that the log holds.
    package var digest: UInt64 {
        var digest: UInt64 = 0
        for topic in Topic.all {
            for place in log.places(of: topic) {
                try? PartitionRecords.read(log.memory, place) { record in
                    let bytes = (record.keyBytes ?? []) + (record.valueBytes ?? [])
                    let hash = unsafe bytes.withUnsafeBytes { unsafe StableHash.of($0) }
                    digest = StableHash.combine(
                        digest ^ hash, UInt64(bitPattern: record.offset ^ record.append))
                }
            }
        }
        return digest
    }
}
