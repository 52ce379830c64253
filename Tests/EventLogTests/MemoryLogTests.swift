// What the memory log does besides passing the suite: it fails and rebalances on request.
import BrakeModel
import EventLog
import LogTestSupport
import Testing

@Suite("The memory log")
struct MemoryLogTests {
    @Test(
        "commits once when a commit in doubt is called again",
        arguments: [[MemoryLog.FaultMoment.before], [.after], [.before, .before, .after]])
    func commitInDoubt(faults: [MemoryLog.FaultMoment]) throws {
        let log = MemoryLog(partitions: 2)
        let worker = try log.makeAssignedWorker()
        log.failCommits(faults)
        let place = TopicPartition(.epoch, 0)
        let outputs = [OutgoingRecord(.epoch, 0, "1")]
        let positions = [TopicPartition(.session, 0): Int64(5)]
        var ends: [TopicPartition: Int64] = [:]
        for moment in faults {
            let failed = try fault { _ = try worker.commit(outputs, positions: positions) }
            #expect(failed.remedy == .retry)
            #expect(try log.readAll([place]).count == (moment == .after ? 1 : 0))
        }
        ends = try worker.commit(outputs, positions: positions)
        let records = try log.readAll([place])
        #expect(records.map(\.value) == ["1"])
        #expect(ends == [place: records[0].offset + 1])
        _ = try worker.commit([OutgoingRecord(.epoch, 0, "2")], positions: [:])
        #expect(try log.readAll([place]).map(\.value) == ["1", "2"])
    }

    @Test("fails appends before or after they took effect")
    func appendFaults() throws {
        let log = MemoryLog(partitions: 2)
        log.failAppends([.before, .after])
        for _ in 0..<2 {
            #expect(try fault { try log.append([.init(.crash, 0, "c")]) }.remedy == .retry)
        }
        #expect(try log.readAll(.crash, 0).count == 1)
    }

    @Test("leaves gaps where Kafka's transactions would")
    func markers() throws {
        let log = MemoryLog(partitions: 1)
        let worker = try log.makeAssignedWorker()
        for value in ["1", "2"] {
            _ = try worker.commit([.init(.epoch, 0, value)], positions: [:])
        }
        let place = TopicPartition(.epoch, 0)
        #expect(try log.readAll([place]).map(\.offset) == [0, 2])
        let reader = log.makeReader(from: [place: 0])
        _ = try reader.readToEnd()
        #expect(reader.positions == [place: 4])
        #expect(log.bounds(of: place) == 0..<4)
    }

    @Test("moves partitions when it is told to, and expels the dead")
    func rebalance() throws {
        let log = MemoryLog(partitions: 4)
        let one = try log.makeAssignedWorker(lane: 0)
        let other = log.makeWorker(lane: 1)
        #expect(try one.pollAssignment(waitMilliseconds: 0) == .revoked([2, 3]))
        #expect(try one.pollAssignment(waitMilliseconds: 0) == nil)
        #expect(try other.pollAssignment(waitMilliseconds: 0) == .assigned([2, 3]))
        log.rebalance([0: [0], 1: [1, 2, 3]])
        #expect(try one.pollAssignment(waitMilliseconds: 0) == .revoked([1]))
        #expect(try one.pollAssignment(waitMilliseconds: 0) == nil)
        #expect(try other.pollAssignment(waitMilliseconds: 0) == .assigned([1]))
        log.expel(lane: 1)
        let late = try fault { _ = try other.commit([.init(.epoch, 2, "late")], positions: [:]) }
        #expect(late.remedy == .fenced)
        #expect(try one.pollAssignment(waitMilliseconds: 0) == .assigned([1, 2, 3]))
    }
}

@Suite("A group of workers")
struct WorkerGroupTests {
    @Test(
        "never gives a partition to two, and all of them to somebody once all have asked",
        arguments: 0..<32)
    func invariants(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var group = WorkerGroup(partitions: 7)
        var owned: [WorkerGroup.MemberID: Set<Int>] = [:]
        var leaving: [WorkerGroup.MemberID: [Int]] = [:]
        func ask(_ id: WorkerGroup.MemberID) -> Bool {
            owned[id]?.subtract(leaving.removeValue(forKey: id) ?? [])
            switch group.nextChange(for: id) {
            case .assigned(let partitions): owned[id]?.formUnion(partitions)
            case .revoked(let partitions): leaving[id] = partitions
            case nil: return false
            }
            return true
        }
        for _ in 0..<200 {
            switch random.next(below: 8) {
            case 0:
                let lane = random.next(below: 4)
                if let old = group.member(lane: lane) { owned[old] = nil }
                owned[group.join(lane: lane)] = []
            case 1 where owned.count > 1:
                let lane = random.next(below: 4)
                if let old = group.member(lane: lane) {
                    group.remove(old)
                    owned[old] = nil
                }
            default:
                guard let id = group.member(lane: random.next(below: 4)) else { continue }
                _ = ask(id)
            }
            let all = owned.values.flatMap { $0 }
            #expect(Set(all).count == all.count)
        }
        guard !owned.isEmpty else { return }
        let ids = (0..<4).compactMap { group.member(lane: $0) }
        for _ in 0..<4 { for id in ids { while ask(id) {} } }
        #expect(owned.values.flatMap { $0 }.sorted() == Array(0..<7))
        #expect(ids.allSatisfy { !group.changeWaits(for: $0) })
    }
}
