// What workers do in groups and with transactions on a real broker.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Synchronization
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A worker on Kafka")
    struct WorkerTests {
        let all = [0, 1, 2, 3]

        @Test("shares partitions, which change hands with nothing lost or doubled", .needsKafka)
        func shares() async throws {
            try await withKafka { log, _ in
                let first = try log.makeWorker(lane: 0)
                defer { first.close() }
                #expect(try first.nextChange() == .assigned(all))
                for partition in all { try first.start(partition: partition, at: [:]) }
                let second = try log.makeWorker(lane: 1)
                defer { second.close() }
                // The first hears of it while it reads, and can still commit.
                let batch = LogBatch()
                _ = try eventually("the rebalance") {
                    _ = try second.pollAssignment(waitMilliseconds: 0)
                    let outcome = try first.poll(into: batch, waitMilliseconds: 100)
                    return outcome.assignmentWaits ? true : nil
                }
                #expect(try first.nextChange() == .revoked(all))
                let before = first.generation
                _ = try first.commit(
                    [.init(.epoch, 3, "last")], positions: [TopicPartition(.session, 3): 0])
                var (mine, theirs): (AssignmentChange?, AssignmentChange?)
                _ = try eventually("both assignments") { () -> Bool? in
                    if mine == nil { mine = try first.pollAssignment(waitMilliseconds: 100) }
                    if theirs == nil { theirs = try second.pollAssignment(waitMilliseconds: 100) }
                    return mine != nil && theirs != nil ? true : nil
                }
                #expect(
                    [mine, theirs] == [.assigned([0, 1]), .assigned([2, 3])]
                        || [mine, theirs] == [.assigned([2, 3]), .assigned([0, 1])])
                let owner = theirs == .assigned([2, 3]) ? second : first
                let other = theirs == .assigned([2, 3]) ? first : second
                #expect(owner.generation > before)
                #expect(
                    try fault {
                        _ = try other.commit(
                            [.init(.epoch, 3, "late")],
                            positions: [TopicPartition(.session, 3): 0])
                    }.remedy == .fenced)
                _ = try owner.commit(
                    [.init(.epoch, 3, "new")], positions: [TopicPartition(.session, 3): 0])
                #expect(try log.readAll(.epoch, 3) == ["last", "new"])
            }
        }

        @Test("leaves although it has not answered a revocation", .needsKafka)
        func leavesUnanswered() async throws {
            try await withKafka { log, _ in
                let first = try log.makeWorker(lane: 0)
                _ = try first.nextChange()
                let second = try log.makeWorker(lane: 1)
                defer { second.close() }
                _ = try eventually("the rebalance") { () -> Bool? in
                    _ = try second.pollAssignment(waitMilliseconds: 0)
                    let outcome = try first.poll(into: LogBatch(), waitMilliseconds: 100)
                    return outcome.assignmentWaits ? true : nil
                }
                first.close()
            }
        }

        @Test("is fenced, cleanly, by another one in its lane", .needsKafka)
        func fencedInItsLane() async throws {
            try await withKafka {
                $0.properties = ["session.timeout.ms": "2000"]
            } _: { log, _ in
                let old = try log.makeWorker(lane: 0)
                defer { old.close() }
                _ = try old.nextChange()
                let positions = [TopicPartition(.session, 0): Int64(0)]
                _ = try old.commit([.init(.epoch, 0, "1")], positions: positions)
                let new = try log.makeWorker(lane: 0)
                defer { new.close() }
                #expect(try new.nextChange() == .assigned(all))
                let refused = try fault {
                    _ = try old.commit([.init(.epoch, 0, "zombie")], positions: positions)
                }
                #expect(refused.remedy == .fenced)
                // The zombie's attempt has cost the new one its producer, not its partitions.
                _ = try new.commit([.init(.epoch, 0, "2")], positions: positions)
                let told = try fault {
                    for _ in 0..<100 { _ = try old.pollAssignment(waitMilliseconds: 100) }
                }
                #expect(told.remedy == .fenced)
                #expect(told.hint?.contains("instance") == true)
                #expect(try log.readAll(.epoch, 0) == ["1", "2"])
                // Whoever supervises it starts it again, and it is a member as before.
                old.close()
                let next = try log.makeWorker(lane: 0)
                defer { next.close() }
                #expect(try next.nextChange() == .assigned(all))
            }
        }

        /// As when a coordinator dies before a member hears under which name it has joined: nobody
        /// has the place that it was put out of, and soon the group knows that, too.
        @Test("joins again when nobody has taken the place that it lost", .needsKafka)
        func fencedByPhantom() async throws {
            try await withKafka {
                $0.properties = ["session.timeout.ms": "2000"]
            } _: { log, _ in
                let old = try log.makeWorker(lane: 0)
                defer { old.close() }
                #expect(try old.nextChange() == .assigned(all))
                let phantom = try log.makeWorker(lane: 0)
                #expect(try phantom.nextChange() == .assigned(all))
                // A static member does not say goodbye.
                phantom.close()
                let told = try fault {
                    for _ in 0..<100 { _ = try old.pollAssignment(waitMilliseconds: 100) }
                }
                #expect(told.remedy == .rejoin, "\(told)")
                old.close()
                let new = try log.makeWorker(lane: 0)
                defer { new.close() }
                #expect(try new.nextChange() == .assigned(all))
            }
        }

        @Test("that the group has forgotten commits nothing, and comes back", .needsKafka)
        func forgotten() async throws {
            try await withKafka { settings in
                settings.properties = [
                    "session.timeout.ms": "3000", "max.poll.interval.ms": "3000",
                    "transaction.timeout.ms": "3000",
                ]
            } _: { log, _ in
                let silent = try log.makeWorker(lane: 0)
                defer { silent.close() }
                _ = try silent.nextChange()
                let positions = [TopicPartition(.session, 0): Int64(0)]
                _ = try silent.commit([.init(.epoch, 0, "1")], positions: positions)
                // Not a word to the group for too long, so that another one takes over.
                let other = try log.makeWorker(lane: 1)
                _ = try eventually("all partitions") {
                    try other.pollAssignment(waitMilliseconds: 200) == .assigned(all) ? true : nil
                }
                let refused = try fault {
                    _ = try silent.commit(
                        [.init(.epoch, 0, "zombie"), .init(.notice, 0, "zombie")],
                        positions: positions)
                }
                #expect(refused.remedy == .rejoin)
                _ = try other.commit([.init(.epoch, 0, "2")], positions: positions)
                other.close()
                #expect(try silent.nextChange() == .revoked(all))
                #expect(
                    try fault {
                        _ = try silent.commit([.init(.epoch, 0, "zombie")], positions: positions)
                    }.remedy == .rejoin)
                #expect(try silent.nextChange() == .assigned(all))
                _ = try silent.commit([.init(.epoch, 0, "3")], positions: positions)
                #expect(try log.readAll(.epoch, 0) == ["1", "2", "3"])
                #expect(try log.readAll(.notice) == [])
            }
        }

        @Test("frees what a killed one left open, as soon as it starts", .needsKafka)
        func leftOpen() async throws {
            try await withKafka { log, settings in
                let name = String(settings.laneName(0).dropFirst(settings.prefix.count))
                do {
                    _ = try ForeignTransaction(
                        settings, id: name, writing: [.init(.throttle, 0, "torn")])
                }
                let place = TopicPartition(.throttle, 0)
                let reader = try log.makeReader(from: [place: 0])
                defer { reader.close() }
                let open = try reader.poll(into: LogBatch(), waitMilliseconds: 100)
                #expect(open.ended == [])
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                #expect(try reader.readToEnd() == [])
            }
        }

        @Test("refuses a transaction time-out above the brokers', with both values", .needsKafka)
        func timeoutTooLong() async throws {
            try await withKafka { settings in
                settings.properties["transaction.timeout.ms"] = "1000000"
            } _: { log, _ in
                let refused = try fault { _ = try log.makeWorker(lane: 0) }
                #expect(refused.remedy == .stop)
                #expect(refused.reason.contains("1000000"))
                #expect(refused.reason.contains("900000"))
            }
        }

        @Test("refuses partitions that no longer go together", .needsKafka)
        func splitPartitions() async throws {
            try await withKafka { log, settings in
                try KafkaAdministrator(settings).grow(.crash, to: 5)
                // A process that starts now refuses, as soon as the brokers tell of it.
                let open = try eventually("a refusal") {
                    do throws(LogFault) {
                        try KafkaLog(settings).close()
                        return nil as LogFault?
                    } catch {
                        return error
                    }
                }
                #expect(open.remedy == .stop)
                #expect(open.place.hasSuffix("crash"))
                #expect(open.reason.contains("5") && open.reason.contains("4"))
                // And so does one that has been there before.
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                let refused = try fault { _ = try worker.nextChange() }
                #expect(refused.remedy == .stop)
                #expect(refused.place.hasSuffix("crash"))
            }
        }

        @Test(
            "commits each epoch once, through freezes and kills of the broker", .needsKafka,
            arguments: [Disturbance.freeze(1_500), .freeze(13_000), .kill])
        func eachOnce(disturbance: Disturbance) async throws {
            try await withKafka(.alone) {
                // Kafka 4.4, back after more than an open transaction's time, ends it without a
                // marker in the group's offsets, which stay pending for ever.
                if case .kill = disturbance {
                    $0.properties["transaction.timeout.ms"] = "60000"
                }
            } _: { log, settings in
                var worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                _ = try worker.nextChange()
                let place = TopicPartition(.session, 0)
                let isOver = Atomic<Bool>(false)
                let disturbing = Thread {
                    do { try disturbance.happen() } catch { Issue.record(error) }
                    isOver.store(true, ordering: .sequentiallyConsistent)
                }
                var (count, retries, rejoins, after, hasBegun) = (0, 0, 0, 0, false)
                while after < 20 {
                    if count == 20, !hasBegun {
                        hasBegun = true
                        disturbing.start()
                    }
                    do {
                        _ = try worker.commit(
                            [.init(.epoch, 0, "\(count)"), .init(.throttle, 0, "\(count)")],
                            positions: [place: Int64(count)])
                        count += 1
                        if isOver.load(ordering: .sequentiallyConsistent) { after += 1 }
                    } catch let fault as LogFault where fault.remedy == .retry {
                        retries += 1
                        print("given back: \(fault)")
                    } catch let fault as LogFault where fault.remedy == .rejoin {
                        // Out of the group for too long: as after a restart of the process.
                        rejoins += 1
                        worker.close()
                        worker = try eventually("a new worker") { () -> (any LogWorker)? in
                            try? log.makeWorker(lane: 0)
                        }
                        _ = try worker.nextChange()
                        count = Int(
                            try worker.committedPositions(partition: 0)[place].map { $0 + 1 } ?? 0)
                    }
                }
                print("\(disturbance): \(count) epochs, \(retries) retries, \(rejoins) rejoins")
                let expected = (0..<count).map { "\($0)" }
                let (epochs, states) = (try log.readAll(.epoch, 0), try log.readAll(.throttle, 0))
                #expect(epochs == expected, "topics of \(settings.prefix)")
                #expect(states == expected, "topics of \(settings.prefix)")
                #expect(
                    try worker.committedPositions(partition: 0) == [place: Int64(count - 1)])
            }
        }
    }
}

/// What happens to the broker while epochs are committed.
enum Disturbance: Sendable, CustomTestStringConvertible {
    case freeze(Int)
    case kill

    var testDescription: String {
        switch self {
        case .freeze(let milliseconds): "frozen for \(milliseconds) ms"
        case .kill: "killed and restarted"
        }
    }

    func happen() throws {
        let kafka = try KafkaFixture.shared.get()
        switch self {
        case .freeze(let milliseconds):
            try kafka.broker("pause")
            usleep(UInt32(milliseconds) * 1_000)
            try kafka.broker("resume")
        case .kill:
            try kafka.broker("kill")
            try kafka.broker("restart")
        }
    }
}
