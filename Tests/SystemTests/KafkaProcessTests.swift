// Evaluators as processes over a real broker: killed, frozen, and changed in number, under load.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPClient
import KafkaLog
import KafkaTestSupport
import ProcessTestSupport
import Runtime
import Testing

@Suite("Evaluators on Kafka, each in a process of its own")
struct KafkaProcessTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `ADBRAKE_KILLS` in the environment asks for more.
    private static let kills = environment["ADBRAKE_KILLS"].flatMap { Int($0) } ?? 4
    /// How long a frozen one stays so: `ADBRAKE_FREEZE` asks for longer, in seconds.
    private static let freezeMilliseconds =
        (environment["ADBRAKE_FREEZE"].flatMap { Int($0) } ?? 4) * 1_000

    /// A fleet on the real broker: topics, a collector, and clients that upload.
    private struct Fleet {
        let workplace: Workplace
        let settings: KafkaSettings
        let log: KafkaLog
        let clients: Clients
        let collect: Child
        /// What every stage is told of the log.
        let place: [String]

        func evaluate(_ instance: String) throws -> Child {
            let options = try workplace.evaluating() + ["--instance", instance]
            return try Child(["evaluate", "--listen", "127.0.0.1:0", "--log"] + place + options)
        }

        /// The last epochs, by partition.
        func last() throws -> [Int: EpochRecord] {
            var last: [Int: EpochRecord] = [:]
            for epoch in try log.epochRecords() { last[epoch.partition] = epoch }
            return last
        }

        /// Waits until every partition has an epoch of a later generation than these.
        func waitForNewOwners(than before: [Int: EpochRecord], _ child: Child) throws {
            _ = try eventually("new owners, after \(child.complaints.suffix(2_000))") {
                let now = try last()
                let isSo = (0..<log.partitions).allSatisfy {
                    now[$0]?.generation ?? 0 > before[$0]?.generation ?? 0
                }
                return isSo ? true : nil
            }
        }

        /// Ends the load and the evaluators left, and holds the log against what clients were told.
        func finish(_ evaluators: [Child]) throws {
            let tally = try #require(clients.finish())
            _ = try eventually("all is counted, after \(evaluators.map(\.complaints))") {
                try log.isCounted() ? true : nil
            }
            for child in evaluators {
                child.signal(SIGTERM)
                #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
            }
            let invariants = Invariants(log: log)
            let changes = try invariants.checkAll(tally, workplace, at: place)
            try invariants.checkPositions()
            print(
                "\(tally.acknowledged.count) uploads of \(tally.events) events acknowledged, "
                    + "\(changes) changes of state")
            #expect(changes > Workload.apps.count, "the states have moved")
        }
    }

    private func withFleet(seed: UInt64, _ body: (Fleet) throws -> Void) async throws {
        try await withKafka { log, settings in
            try withWorkplace { workplace in
                let file = try workplace.write(
                    "kafka.conf",
                    """
                    session.timeout.ms=2000
                    heartbeat.interval.ms=300
                    transaction.timeout.ms=2000
                    """)
                let place = [
                    "kafka:\(settings.bootstrap)", "--prefix", settings.prefix, "--kafka-config",
                    file,
                ]
                let collect = try Child(
                    ["collect", "--listen", "127.0.0.1:0", "--log"] + place)
                defer { collect.close() }
                let clients = Clients(count: 3, seed: seed)
                defer { _ = clients.finish() }
                clients.send(to: try collect.address())
                try body(
                    Fleet(
                        workplace: workplace, settings: settings, log: log, clients: clients,
                        collect: collect, place: place))
            }
        }
    }

    @Test(
        "are killed again and again, and the log is as if nothing had happened", .needsKafka)
    func killed() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("KafkaProcessTests.killed seed \(seed), \(Self.kills) kills")
        var random = SeededGenerator(seed: seed)
        try await withFleet(seed: seed) { fleet in
            for _ in 0..<Self.kills {
                let child = try fleet.evaluate("one")
                defer { child.close() }
                if !random.chance(20) {
                    _ = try child.line(with: "partitions restored")
                    let uploads = 1 + random.next(below: 60)
                    fleet.clients.waitForUploads(uploads, milliseconds: 3_000)
                }
                StopSignal().wait(milliseconds: random.next(below: 500))
                #expect(child.isRunning, "\(child.complaints)")
                child.signal(SIGKILL)
                #expect(try child.waitForEnd() == .killed(SIGKILL))
                #expect(!child.complaints.contains(#""level":"error""#), "\(child.complaints)")
            }
            let last = try fleet.evaluate("one")
            defer { last.close() }
            fleet.clients.waitForUploads(60, milliseconds: Child.patienceMilliseconds)
            try fleet.finish([last])
        }
    }

    /// No event comes after the kill: time alone makes the state ease.
    @Test("ease an app at the tick at which they would have, had they not been killed", .needsKafka)
    func killedBeforeExpiry() async throws {
        try await withFleet(seed: 1) { fleet in
            let first = try fleet.evaluate("one")
            defer { first.close() }
            fleet.clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
            // Most sessions of 52 s ago have crashed: in 8 s the minute is clean, and has enough
            // sessions that went well.
            let app = "late"
            let now = SystemClock.wallMilliseconds()
            let events = (0..<20).flatMap { number in
                let isBad = number < 10
                let common =
                    #""app":"\#(app)","session":"\#(app)-\#(number)","device":"d\#(number)","#
                    + #""at":\#(isBad ? now - 52_000 : now),"token":"\#(app)""#
                let crash = #"{"type":"crash","id":"\#(app)-\#(number)",\#(common),"n":"#
                let start = #"{"type":"session",\#(common),"n":"#
                return isBad
                    ? [start + "\(number)}", crash + "\(number + 20)}"]
                    : [start + "\(number)}"]
            }
            fleet.clients.tally.withLock { $0.acknowledged[app] = events.count }
            let answer = try HTTPConnection().post(
                "\(try fleet.collect.address())/v1/events",
                "[\(events.joined(separator: ","))]")
            #expect(answer.status == 202)
            _ = try #require(fleet.clients.finish())
            func states() throws -> [ThrottleState] {
                try fleet.log.throttleRecords().filter { $0.change.app.text == app }
                    .map(\.change.state)
            }
            _ = try eventually("a brake") { try states().last == .halt ? true : nil }
            first.signal(SIGKILL)
            _ = try first.waitForEnd()
            let second = try fleet.evaluate("one")
            defer { second.close() }
            _ = try eventually("changes without events") {
                try states().last == .normal ? true : nil
            }
            try fleet.finish([second])
        }
    }

    @Test("stay frozen while another takes over, and nothing of theirs gets through", .needsKafka)
    func frozen() async throws {
        try await withFleet(seed: 2) { fleet in
            let first = try fleet.evaluate("one")
            defer { first.close() }
            _ = try first.line(with: "partitions restored")
            fleet.clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
            let before = try fleet.last()
            first.signal(SIGSTOP)
            let second = try fleet.evaluate("two")
            defer { second.close() }
            try fleet.waitForNewOwners(than: before, second)
            StopSignal().wait(milliseconds: Self.freezeMilliseconds)
            fleet.clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
            first.signal(SIGCONT)
            // It hears that it has been given up, and begins anew as a member among others.
            _ = try first.line(with: "joining the group again")
            fleet.clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
            try fleet.finish([first, second])
        }
    }

    @Test("become four, then one, under load, and tell every change once", .needsKafka)
    func rolling() async throws {
        try await withFleet(seed: 3) { fleet in
            let one = try fleet.evaluate("one")
            defer { one.close() }
            let two = try fleet.evaluate("two")
            defer { two.close() }
            try fleet.waitForNewOwners(than: [:], one)
            fleet.clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
            var before = try fleet.last()
            let three = try fleet.evaluate("three")
            defer { three.close() }
            let four = try fleet.evaluate("four")
            defer { four.close() }
            try fleet.waitForNewOwners(than: before, four)
            _ = try four.line(with: "partitions restored")
            fleet.clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
            before = try fleet.last()
            four.signal(SIGTERM)
            #expect(try four.waitForEnd() == .exited(0), "\(four.complaints)")
            three.signal(SIGKILL)
            two.signal(SIGTERM)
            #expect(try two.waitForEnd() == .exited(0), "\(two.complaints)")
            try fleet.waitForNewOwners(than: before, one)
            fleet.clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
            try fleet.finish([one])
        }
    }
}
