// What every log must do for evaluators: assignment, atomic commits, fencing.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Runtime
import Testing

@Suite("Every log's workers")
struct WorkerConformanceTests {
    @Test("commit outputs together with positions", arguments: LogKind.all)
    func atomicCommit(kind: LogKind) async throws {
        try await kind.withLog { log in
            try log.append([.init(.session, 1, "in"), .init(.crash, 1, "in")])
            let worker = try log.makeAssignedWorker()
            #expect(try worker.committedPositions(partition: 1) == [:])
            try worker.start(partition: 1, at: [:])
            #expect(try worker.read(2, ended: 4).count == 2)
            let positions = [TopicPartition(.session, 1): Int64(1), TopicPartition(.crash, 1): 1]
            let ends = try worker.commit(
                [.init(.throttle, 1, "halt"), .init(.epoch, 1, "1"), .init(.throttle, 1, "ease")],
                positions: positions)
            #expect(Set(ends.keys) == [TopicPartition(.throttle, 1), TopicPartition(.epoch, 1)])
            let throttle = try log.readAll(.throttle, 1)
            #expect(throttle.map(\.value) == ["halt", "ease"])
            #expect(ends[TopicPartition(.throttle, 1)] == throttle[1].offset + 1)
            #expect(try worker.committedPositions(partition: 1) == positions)
            #expect(try worker.committedPositions(partition: 0) == [:])
            worker.close()
            let next = try log.makeAssignedWorker()
            #expect(try next.committedPositions(partition: 1) == positions)
            #expect(next.generation > worker.generation)
            next.close()
        }
    }

    /// As the lanes of a process do when it starts: each on a thread of its own.
    @Test("may join at the same moment, and none is fenced", arguments: LogKind.all)
    func joinTogether(kind: LogKind) async throws {
        for _ in 0..<(kind.answersAtOnce ? 10 : 1) {
            try await kind.withLog { log in
                let lanes = 3
                let (results, begin) = (Monitor<[String]>([]), Monitor(0))
                let group = Monitor(Joining(lanes: lanes))
                for lane in 0..<lanes {
                    Thread {
                        begin.withLock { $0 += 1 }
                        _ = begin.wait(milliseconds: 10_000) { $0 == lanes ? true : nil }
                        let result = Result { try joinAndCommit(log, lane: lane, group) }
                        results.withLock { $0.append("\(result)") }
                    }.start()
                }
                let ended = results.wait(milliseconds: 60_000) { $0.count == lanes ? $0 : nil }
                #expect(ended == Array(repeating: "success()", count: lanes))
            }
        }
    }

    @Test("go on from where the last one committed", arguments: LogKind.all)
    func goOn(kind: LogKind) async throws {
        try await kind.withLog { log in
            try log.append((0..<5).map { .init(.adEvent, 0, "\($0)") })
            let first = try log.makeAssignedWorker()
            _ = try first.commit([], positions: [TopicPartition(.adEvent, 0): 3])
            first.close()
            let second = try log.makeAssignedWorker()
            defer { second.close() }
            try second.start(partition: 0, at: second.committedPositions(partition: 0))
            #expect(try second.read(2).map(\.value) == ["3", "4"])
        }
    }

    @Test("leave out what is held, as neither waiting nor ended", arguments: LogKind.all)
    func held(kind: LogKind) async throws {
        try await kind.withLog { log in
            let (fast, slow) = (TopicPartition(.session, 2), TopicPartition(.crash, 2))
            try log.append([.init(.session, 2, "fast"), .init(.crash, 2, "slow")])
            let worker = try log.makeAssignedWorker()
            defer { worker.close() }
            try worker.start(partition: 2, at: [:])
            worker.held = [fast]
            let batch = LogBatch()
            let outcome = try kind.ask("what is not held") {
                let outcome = try worker.poll(into: batch, waitMilliseconds: 0)
                return batch.isEmpty ? nil : outcome
            }
            #expect(batch.copies.map(\.value) == ["slow"])
            #expect(!outcome.ended.contains(fast))
            let later = try kind.ask("the end of what is not held") {
                let outcome = try worker.poll(into: batch, waitMilliseconds: 0)
                #expect(batch.isEmpty)
                return outcome.ended.contains(slow) ? outcome : nil
            }
            #expect(later.ended.contains(slow) && !later.ended.contains(fast))
            worker.held = []
            #expect(try worker.read(1).map(\.value) == ["fast"])
        }
    }

    @Test("read nothing before they start, and nothing that was revoked", arguments: LogKind.all)
    func readsOwnOnly(kind: LogKind) async throws {
        try await kind.withLog(partitions: 2) { log in
            try log.append([.init(.session, 0, "0"), .init(.session, 1, "1")])
            let first = try log.makeAssignedWorker(lane: 0)
            defer { first.close() }
            let batch = LogBatch()
            #expect(try first.poll(into: batch, waitMilliseconds: 0).ended == [])
            #expect(batch.isEmpty)
            try first.start(partition: 0, at: [:])
            try first.start(partition: 1, at: [:])
            let second = try log.makeWorker(lane: 1)
            defer { second.close() }
            _ = try kind.ask("word of the second") {
                if !kind.answersAtOnce { _ = try second.pollAssignment(waitMilliseconds: 0) }
                let outcome = try first.poll(into: batch, waitMilliseconds: 0)
                return outcome.assignmentWaits ? true : nil
            }
            let change = try first.pollAssignment(waitMilliseconds: 0)
            #expect(change == .revoked(kind.answersAtOnce ? [1] : [0, 1]))
            try log.append([.init(.session, 0, "2"), .init(.session, 1, "3")])
            for _ in 0..<5 {
                _ = try first.poll(into: batch, waitMilliseconds: kind.answersAtOnce ? 0 : 50)
                #expect(batch.copies.map(\.value).contains("3") == false)
            }
        }
    }

    @Test(
        "share partitions, which change hands only when their owner has let go",
        arguments: LogKind.all)
    func rebalance(kind: LogKind) async throws {
        try await kind.withLog { log in
            let first = try log.makeAssignedWorker(lane: 0)
            let before = first.generation
            let second = try log.makeWorker(lane: 1)
            defer { second.close() }
            let change = try kind.ask("a revocation") {
                #expect(try second.pollAssignment(waitMilliseconds: 0) == nil)
                return try first.pollAssignment(waitMilliseconds: 0)
            }
            #expect(change == .revoked(kind.answersAtOnce ? [2, 3] : [0, 1, 2, 3]))
            #expect(try second.pollAssignment(waitMilliseconds: 0) == nil)
            // The open epoch can still be committed.
            _ = try first.commit([.init(.epoch, 3, "last")], positions: [:])
            var owned: [Set<Int>]
            if kind.answersAtOnce {
                #expect(try first.pollAssignment(waitMilliseconds: 0) == nil)
                #expect(try second.pollAssignment(waitMilliseconds: 0) == .assigned([2, 3]))
                owned = [[0, 1], [2, 3]]
            } else {
                owned = try share(4, among: [first, second], owners: 2)
                #expect(Set(owned) == [[0, 1], [2, 3]])
            }
            let (owner, other) = owned[1].contains(3) ? (second, first) : (first, second)
            #expect(owner.generation > before)
            let fenced = try fault {
                _ = try other.commit([.init(.epoch, 3, "late")], positions: [:])
            }
            #expect(fenced.remedy == .fenced)
            _ = try other.commit([.init(.epoch, 1, "own")], positions: [:])
            _ = try owner.commit([.init(.epoch, 3, "new")], positions: [:])
            #expect(try log.readAll(.epoch, 3).map(\.value) == ["last", "new"])
            #expect(try log.readAll(.epoch, 1).map(\.value) == ["own"])
            let generation = second.generation
            first.close()
            if kind.answersAtOnce {
                #expect(try second.pollAssignment(waitMilliseconds: 0) == .assigned([0, 1]))
            } else {
                owned = try share(4, among: [second], owners: 1)
            }
            #expect(second.generation > generation)
        }
    }

    @Test("are fenced when another one takes their lane", arguments: LogKind.all)
    func fencing(kind: LogKind) async throws {
        try await kind.withLog { log in
            let old = try log.makeAssignedWorker()
            defer { old.close() }
            _ = try old.commit(
                [.init(.epoch, 0, "1")], positions: [TopicPartition(.session, 0): 0])
            let new = try log.makeWorker(lane: 0)
            defer { new.close() }
            // The group may hear of the newer one only when it asks.
            if !kind.answersAtOnce { try new.acquire([0, 1, 2, 3]) }
            // A busy broker may not answer in time, which says nothing yet.
            let commit = try eventually("an answer to the commit") { () -> LogFault? in
                let fault = try fault {
                    _ = try old.commit(
                        [.init(.epoch, 0, "zombie"), .init(.notice, 0, "zombie")],
                        positions: [TopicPartition(.session, 0): 0])
                }
                return fault.remedy == .retry ? nil : fault
            }
            #expect(commit.remedy == .fenced)
            let told = try fault {
                for _ in 0..<(kind.answersAtOnce ? 1 : 1_000) {
                    _ = try old.pollAssignment(waitMilliseconds: 10)
                }
            }
            #expect(told.remedy == .fenced)
            if kind.answersAtOnce { try new.acquire([0, 1, 2, 3]) }
            _ = try new.commit([.init(.epoch, 0, "2")], positions: [:])
            #expect(try log.readAll(.epoch, 0).map(\.value) == ["1", "2"])
            #expect(try log.readAll(.notice) == [])
        }
    }

    @Test("leave lanes without partitions alone", arguments: LogKind.all)
    func moreLanesThanPartitions(kind: LogKind) async throws {
        try await kind.withLog(partitions: 2) { log in
            let workers = try (0..<5).map { try log.makeWorker(lane: $0) }
            defer { for worker in workers { worker.close() } }
            let owned = try share(2, among: workers, owners: 2)
            #expect(owned.filter { !$0.isEmpty }.allSatisfy { $0.count == 1 })
            let batch = LogBatch()
            for (worker, partitions) in zip(workers, owned) where partitions.isEmpty {
                #expect(try worker.poll(into: batch, waitMilliseconds: 0).ended == [])
            }
        }
    }

    @Test("keep everything when many threads append and commit at once", arguments: LogKind.all)
    func manyThreads(kind: LogKind) async throws {
        try await kind.withLog { log in
            let worker = try log.makeAssignedWorker()
            defer { worker.close() }
            let finished = DispatchGroup()
            for thread in 0..<6 {
                DispatchQueue.global().async(group: finished) {
                    for index in 0..<50 {
                        try? log.append([
                            .init(.session, thread % 4, "\(thread)/\(index)"),
                            .init(.crash, thread % 4, "\(thread)/\(index)"),
                        ])
                    }
                }
            }
            for index in 0..<50 {
                _ = try worker.commit([.init(.epoch, 0, "\(index)")], positions: [:])
            }
            finished.wait()
            let places = log.places(of: .session) + log.places(of: .crash)
            let records = try log.readAll(places)
            #expect(records.count == 600)
            for thread in 0..<6 {
                let mine = records.filter {
                    $0.place.topic == .crash && $0.value?.hasPrefix("\(thread)/") == true
                }
                #expect(mine.map(\.value) == (0..<50).map { "\(thread)/\($0)" })
            }
            #expect(try log.readAll(.epoch, 0).map(\.value) == (0..<50).map(String.init))
        }
    }
}

/// What lanes that join together know of each other.
private struct Joining {
    var owned: [Set<Int>]
    var committed = 0

    init(lanes: Int) { owned = Array(repeating: [], count: lanes) }
}

/// Joins, waits until every lane has its share, commits what belongs to this one by then, and waits
/// for the others: who leaves makes their partitions move.
private func joinAndCommit(
    _ log: any EventLog, lane: Int, _ group: Monitor<Joining>
) throws {
    let worker = try log.makeWorker(lane: lane)
    defer { worker.close() }
    var mine: Set<Int> = []
    _ = try eventually("a share for each lane") { () -> Bool? in
        let hasChanged = try worker.follow(&mine, waitMilliseconds: 20)
        return group.withLock { group in
            group.owned[lane] = mine
            let sum = group.owned.reduce(0) { $0 + $1.count }
            return !hasChanged && sum == log.partitions && !group.owned.contains([]) ? true : nil
        }
    }
    let outputs = mine.sorted().map { OutgoingRecord(.epoch, $0, "\(lane)") }
    _ = try worker.commit(outputs, positions: [:])
    group.withLock { $0.committed += 1 }
    _ = group.wait(milliseconds: 60_000) { $0.committed == $0.owned.count ? true : nil }
}
