// How each kind of fault happens, and how it ends.

import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import Serve

extension World {
    func happen(_ kind: FaultKind) {
        let number = random.number(0...seats.count - 1)
        let end = figures.steps + random.number(1...40)
        switch kind {
        case .crash: replace(number, from: random.pick([figures.steps, end]))
        case .zombie:
            if let lane = seats[number].lane, zombies.count < 4 { zombies.append(lane) }
            replace(number, from: figures.steps)
        case .stop: stop(number)
        case .rebalance: rebalance()
        case .expulsion: log.memory.expel(lane: number)
        case .freeze: seats[number].from = end
        case .commit:
            log.memory.failCommits(
                (0..<random.number(1...3)).map { _ in random.pick([.before, .after]) })
        case .network:
            log.steer { $0.faultShare = 0.3 }
            networkEnd = end
        case .stall, .lateInput: leaveOut(kind, until: end)
        case .snapshot: damageSnapshot()
        case .retention: deleteOld()
        case .olderRecord: writeOlder()
        case .clockForwards: time.jump(random.number(1_000...600_000))
        case .clockBack: time.jump(-random.number(Int64(1)...20_000))
        case .append: log.memory.failAppends([random.pick([.before, .after])])
        case .slowEdge: followers[random.number(0...followers.count - 1)].from = end
        case .edgeRestart:
            let index = random.number(0...followers.count - 1)
            followers[index] = makeFollower()
        }
    }

    /// Ends what has lasted long enough.
    func endSteering() {
        let over = stallsEnd.filter { $0.value <= figures.steps }.map(\.key)
        for place in over { stallsEnd[place] = nil }
        let isNetworkBack = networkEnd <= figures.steps
        guard !over.isEmpty || isNetworkBack else { return }
        log.steer { steering in
            steering.stalled.subtract(over)
            steering.hidden.subtract(over)
            if isNetworkBack { steering.faultShare = 0 }
        }
    }

    private func replace(_ number: Int, from step: Int) {
        seats[number].lane = nil
        seats[number].from = step
    }

    private func stop(_ number: Int) {
        guard let lane = seats[number].lane else { return }
        do {
            try lane.leave()
            lane.close()
        } catch {
            // It has stopped all the same: as one does that waits for the log no longer.
            if error.remedy == .stop { find("lane \(number) could not stop: \(error)") }
        }
        replace(number, from: figures.steps)
    }

    private func rebalance() {
        var shares: [Int: Set<Int>] = [:]
        for partition in 0..<log.partitions {
            shares[random.number(0...seats.count - 1), default: []].insert(partition)
        }
        log.memory.rebalance(shares)
    }

    private func leaveOut(_ kind: FaultKind, until end: Int) {
        let place = TopicPartition(
            random.pick(Topic.inputs), random.number(0...log.partitions - 1))
        guard stallsEnd[place] == nil else { return }
        stallsEnd[place] = end
        log.steer { steering in
            if kind == .stall {
                steering.stalled.formUnion([place])
            } else {
                steering.hidden.formUnion([place])
            }
        }
    }

    /// Deletes inputs and epochs before the oldest snapshot that the last epoch points to. Not
    /// where snapshots are damaged: what is deleted would be missed.
    private func deleteOld() {
        let partition = random.number(0...log.partitions - 1)
        guard damaged.isEmpty,
            let records = try? PartitionRecords(log.memory, partition, deleted: deleted),
            let oldest = records.epochs.last?.snapshots.last,
            let kept = records.epochs.first(where: { $0.number == oldest.epoch })
        else { return }
        for type in EventType.allCases {
            let place = TopicPartition(Topic.inputs[Int(type.rawValue)], partition)
            delete(place, before: kept.offsets[type])
        }
        if let offset = records.epochOffsets[kept.number] {
            delete(TopicPartition(.epoch, partition), before: offset)
        }
    }

    private func delete(_ place: TopicPartition, before offset: Int64) {
        try? PartitionRecords.read(log.memory, place) { record in
            guard record.offset < offset else { return }
            deleted[place, default: []].append(
                .init(
                    offset: record.offset, append: record.append, key: record.keyBytes,
                    value: record.valueBytes))
        }
        log.memory.deleteRecords(of: place, before: offset)
    }

    /// Writes a state again that an app has left behind.
    private func writeOlder() {
        let place = TopicPartition(.throttle, random.number(0...log.partitions - 1))
        var older: [OutgoingRecord] = []
        var last: [[UInt8]: OutgoingRecord] = [:]
        try? PartitionRecords.read(log.memory, place) { record in
            guard !forged.contains(.init(place: place, offset: record.offset)) else { return }
            let key = record.keyBytes ?? []
            let copy = OutgoingRecord(
                .throttle, partition: place.partition, key: key, value: record.valueBytes)
            if let before = last.updateValue(copy, forKey: key) { older.append(before) }
        }
        guard !older.isEmpty else { return }
        let end = log.memory.bounds(of: place).upperBound
        try? log.memory.append([random.pick(older)])
        for offset in end..<log.memory.bounds(of: place).upperBound {
            forged.insert(.init(place: place, offset: offset))
        }
    }

    private func damageSnapshot() {
        guard deleted.isEmpty else { return }
        let place = TopicPartition(.snapshot, random.number(0...log.partitions - 1))
        let bounds = log.memory.bounds(of: place)
        guard !bounds.isEmpty else { return }
        // Mostly the newest one, since nobody looks at others.
        let back = random.pick([1, 1, 2, 4])
        let offset = max(bounds.lowerBound, bounds.upperBound - Int64(back))
        damaged.insert(.init(place: place, offset: offset))
        let way = random.number(0...2)
        let at = random.next()
        log.memory.damage(place, at: offset) { bytes in
            if way == 0 || bytes.isEmpty { return nil }
            let index = Int(at % UInt64(bytes.count))
            if way == 1 { return Array(bytes[..<index]) }
            var bytes = bytes
            bytes[index] ^= 1 << UInt8(at >> 32 & 7)
            return bytes
        }
    }

    func stepFollower(_ index: Int) {
        guard followers[index].from <= figures.steps else { return }
        do {
            try followers[index].follower.step()
        } catch {
            if error.remedy != .retry, !isBehindRetention(error) {
                find("edge \(index) failed: \(error)")
            }
            figures.retries += 1
            return
        }
        let image = followers[index].edge.table.image
        guard image.isReady else { return }
        for app in workload.appIDs {
            let served = served(app, by: index)
            let before = followers[index].revisions.updateValue(
                served.revision, forKey: app.text)
            if let before, before > served.revision {
                find(
                    "edge \(index) went back from revision \(before) of \(app.text) to "
                        + "\(served.revision)")
            }
        }
    }
}

extension World {
    /// What an edge serves of an app; the one that is wrong on purpose minds no order.
    func served(
        _ app: AppID, by index: Int
    ) -> (revision: Int64, state: ThrottleState) {
        let image = followers[index].edge.table.image
        let served = ServedState(of: app, in: image, now: time.wall, settings: ServeSettings())
        guard canary == .olderRevision else { return (served.revision, served.state) }
        let partition = Partitioner.partition(of: app.text.utf8, partitions: log.partitions)
        let documents = DocumentReader()
        var last = (revision: served.revision, state: served.state)
        try? PartitionRecords.read(log.memory, TopicPartition(.throttle, partition)) { record in
            guard let value = unsafe record.value else { return }
            let change = unsafe try ThrottleRecord.decode(value, with: documents).change
            if change.app == app { last = (change.revision, change.state) }
        }
        return last
    }
}

extension TopicPartition {
    /// A record's place.
    struct Offset: Hashable {
        var place: TopicPartition
        var offset: Int64
    }
}
