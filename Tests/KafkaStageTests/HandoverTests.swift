// Evaluators that come and go on a real broker: what they decide together is what one would have.
import BrakeEngine
import BrakeModel
import BrakeWire
import Evaluate
import EventLog
import KafkaLog
import KafkaTestSupport
import LogTestSupport
import Runtime
import Synchronization
import Testing

/// One evaluator process, as its threads and its log make it.
private final class Evaluators {
    let told = CapturedLog()
    let metrics = Metrics()
    private let stop = StopSignal()
    private let log: KafkaLog
    private var threads: [WorkerThread] = []

    /// `instance`: its name in the fleet.
    init(_ settings: KafkaSettings, instance: String, lanes: Int = 1) throws {
        var settings = settings
        settings.instance = instance
        let log = try KafkaLog(settings)
        self.log = log
        stop.whenRequested { log.interrupt() }
        let (told, stop, shared) = (told, stop, EvaluateMetrics(metrics))
        for lane in 0..<lanes {
            threads.append(
                WorkerThread(name: "\(instance) \(lane)") {
                    let evaluator = EvaluatorLane(
                        log: log, lane: lane, settings: Evaluators.settings,
                        logger: Logger(part: instance, to: told), metrics: shared)
                    do { try evaluator.run(stop: stop) } catch {
                        Issue.record("\(instance) lane \(lane): \(error)")
                    }
                })
        }
    }

    /// Stops as a process does that is asked to.
    func leave() {
        stop.request(reason: "the test has seen enough")
        for thread in threads { thread.join() }
        log.close()
    }

    static let settings: EvaluateSettings = {
        var settings = EvaluateSettings(policy: .restless)
        settings.snapshotMilliseconds = 1_000
        settings.heartbeatMilliseconds = 500
        settings.restorePieceMilliseconds = 5
        return settings
    }()
}

/// Reports sessions of twelve apps, each second one of which crashes now and then, until stopped.
private final class Reports: Sendable {
    private let stop = StopSignal()
    private let count = Atomic<Int>(0)

    func start(_ log: KafkaLog) -> WorkerThread {
        WorkerThread(name: "reports") { [self] in
            var number = 0
            while !stop.wait(milliseconds: 20) {
                number += 1
                let app = "app-\(number % 12)"
                let key = Array(app.utf8)
                let partition = Partitioner.partition(of: key, partitions: log.partitions)
                let isBad = (number / 100 + number) % 4 == 0
                let at = LogClock.wall.now() - 58_000
                var records = [
                    OutgoingRecord(
                        .session, partition: partition, key: key,
                        value: Array(
                            #"{"type":"session","app":"\#(app)","session":"s\#(number)","at":\#(at)}"#
                                .utf8))
                ]
                if isBad {
                    records.append(
                        OutgoingRecord(
                            .crash, partition: partition, key: key,
                            value: Array(
                                (#"{"type":"crash","app":"\#(app)","id":"c\#(number)","#
                                    + #""session":"s\#(number)","at":\#(at)}"#).utf8)))
                }
                do { try log.append(records) } catch { Issue.record("\(error)") }
                count.add(records.count, ordering: .relaxed)
            }
        }
    }

    func end() { stop.request(reason: "enough") }
    var sent: Int { count.load(ordering: .relaxed) }
}

extension PublishedLog {
    /// Waits until every partition has two epochs more than it had: after two of which the second
    /// has begun when the change was over.
    fileprivate func awaitEpochs() throws {
        let before = try (0..<partitions).map { try epochs($0).last?.number ?? 0 }
        _ = try eventually("epochs of all partitions") {
            try (0..<partitions).allSatisfy {
                try epochs($0).last?.number ?? 0 > before[$0] + 1
            } ? true : nil
        }
    }

    fileprivate func isCounted() throws -> Bool {
        try (0..<partitions).allSatisfy { try isCounted($0) }
    }
}

extension KafkaStageTests {
    @Suite("Evaluators on Kafka")
    struct HandoverTests {
        @Test("make each transition once while 1, 2, 4 and again 1 of them share it", .needsKafka)
        func rolling() async throws {
            try await withKafka { log, settings in
                let published = PublishedLog(log)
                let reports = Reports()
                let reporting = reports.start(log)
                let first = try Evaluators(settings, instance: "a")
                try published.awaitEpochs()
                let second = try Evaluators(settings, instance: "b")
                _ = try eventually("the second's part") {
                    second.told.line("partitions restored")
                }
                try published.awaitEpochs()
                let others = try Evaluators(settings, instance: "c", lanes: 2)
                _ = try eventually("the others' parts") {
                    others.told.lines.filter { $0.message == "partitions restored" }.count >= 2
                        ? true : nil
                }
                try published.awaitEpochs()
                others.leave()
                second.leave()
                try published.awaitEpochs()
                reports.end()
                reporting.join()
                _ = try eventually("all is counted") { try published.isCounted() ? true : nil }
                first.leave()
                try check(log, published, sent: reports.sent)
                let kept = first.told.lines.compactMap { $0.metadata["kept"] }
                print("restores of the first evaluator, of which it had the state: \(kept)")
            }
        }

        /// Holds what was published against an undisturbed replay, which compares the checksum of
        /// every epoch: nothing was lost, nothing counted or decided twice.
        private func check(_ log: KafkaLog, _ looked: PublishedLog, sent: Int) throws {
            var published: [ThrottleRecord] = []
            var (records, generations) = (0, Set<Int64>())
            for partition in 0..<log.partitions {
                published += try looked.throttle(partition)
                let epochs = try looked.epochs(partition)
                #expect(epochs.map(\.number) == Array(1...Int64(epochs.count)))
                records += EventType.allCases.reduce(0) {
                    $0 + Int(epochs.last?.offsets[$1] ?? 0)
                }
                generations.formUnion(epochs.map(\.generation))
            }
            #expect(records == sent)
            #expect(generations.count >= 4)
            let revisions = Dictionary(grouping: published, by: \.change.app)
                .mapValues { $0.map(\.change.revision).sorted() }
            for (app, revisions) in revisions {
                #expect(revisions == Array(1...Int64(revisions.count)), "\(app.text)")
            }
            published.sort { ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app) }
            let replay = LogReplay(
                log: log, policy: Evaluators.settings.policy,
                limits: Evaluators.settings.limits)
            let again = try replay.run()
            #expect(
                String(decoding: again.output, as: UTF8.self)
                    == published.map { String(decoding: $0.encode(), as: UTF8.self) + "\n" }
                    .joined())
            print(
                "rolling: \(records) records, \(again.epochs) epochs in \(generations.count) "
                    + "generations, \(published.count) transitions")
            #expect(published.count > 24)
        }

        @Test("commit other partitions while one takes long to come back", .needsKafka)
        func longRestore() async throws {
            try await withKafka(partitions: 2) { settings in
                settings.properties = [
                    "session.timeout.ms": "3000", "max.poll.interval.ms": "3000",
                    "transaction.timeout.ms": "3000",
                ]
            } _: { log, settings in
                let published = PublishedLog(log)
                let before = try Evaluators(settings, instance: "a")
                try published.awaitEpochs()
                before.leave()
                let counts = try (0..<2).map { try published.epochs($0).count }
                // What somebody has left open holds back who reads the epochs of partition 1.
                let foreign = try ForeignTransaction(
                    settings,
                    writing: [
                        OutgoingRecord(
                            .epoch, partition: 1, key: nil, value: Array("never to be read".utf8))
                    ])
                let lane = try Evaluators(settings, instance: "a")
                // Ten seconds of heartbeats, each half a second.
                _ = try eventually("epochs of the other partition") {
                    try published.epochs(0).count >= counts[0] + 20 ? true : nil
                }
                try foreign.abort()
                _ = try eventually("its own epochs") {
                    try published.epochs(1).count >= counts[1] + 2 ? true : nil
                }
                lane.leave()
                let troubles = lane.told.lines.filter { $0.level >= .warning }
                #expect(troubles.isEmpty, "\(troubles)")
                let generations = try published.epochs(0).dropFirst(counts[0]).map(\.generation)
                #expect(Set(generations).count == 1)
            }
        }
    }
}
