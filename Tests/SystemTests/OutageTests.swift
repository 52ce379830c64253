// The log goes away under load and comes back: nothing acknowledged is lost, nobody waits without
// an end, and nothing has to be restarted.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import KafkaLog
import ProcessTestSupport
import Runtime
import SQLiteLog
import Testing

@Suite("The log goes away under load", .serialized)
struct OutageTests {
    /// `ADBRAKE_OUTAGE_SECONDS` in the environment asks for longer ones, and on Kafka for all
    /// stages, whose group takes a while to come together again.
    private static let asked =
        ProcessInfo.processInfo.environment["ADBRAKE_OUTAGE_SECONDS"].flatMap { Int($0) }
    private static let seconds = asked ?? 6

    /// Takes the log away, for as long as asked, and waits until uploads get through again.
    private func outage(
        _ name: String, _ clients: Clients, _ child: Child, begin: () throws -> Void,
        end: () throws -> Void
    ) throws {
        clients.waitForUploads(40, milliseconds: Child.patienceMilliseconds)
        let before = clients.tally.read { ($0.acknowledged.count, $0.refused) }
        try begin()
        let pause = StopSignal()
        pause.wait(milliseconds: Self.seconds * 1_000)
        let during = clients.tally.read { ($0.acknowledged.count, $0.refused) }
        try end()
        let back = SystemClock.monotonicMilliseconds()
        let isBack = clients.waitForUploads(40, milliseconds: Child.patienceMilliseconds)
        #expect(isBack, "after a \(name) uploads get through; \(child.complaints.suffix(4_000))")
        print(
            "OutageTests \(name): \(Self.seconds) s, \(during.0 - before.0) acknowledged and "
                + "\(during.1 - before.1) refused meanwhile; 40 more acknowledged "
                + "\(SystemClock.monotonicMilliseconds() - back) ms after it was back")
    }

    private func finish(_ clients: Clients, _ child: Child) throws -> Clients.Tally {
        let tally = try #require(clients.finish())
        #expect(tally.complaints.isEmpty, "\(tally.complaints.prefix(3))")
        #expect(tally.timedOut == 0, "nobody has waited for longer than a client does")
        print(
            "OutageTests \(tally.acknowledged.count) uploads acknowledged, \(tally.refused) "
                + "refused, the slowest answer came after \(tally.slowestMilliseconds) ms")
        let errors = child.complaints.split(separator: "\n").filter {
            // The client library tells each connection that it could not make.
            $0.contains("\"level\":\"error\"") && !$0.contains("\"part\":\"kafka\"")
        }
        #expect(errors.isEmpty, "\(errors)")
        return tally
    }

    @Test("SQLite: the file is locked, the disk is full, and it goes on by itself")
    func sqlite() throws {
        try withWorkplace { workplace in
            var disk: SmallDisk?
            var place = workplace
            if SmallDisk.isPossible {
                place = Workplace(folder: workplace.folder + "/disk")
                disk = try SmallDisk(at: place.folder, megabytes: 96)
            }
            defer { withExtendedLifetime(disk) {} }
            let child = try place.start("run", try workplace.evaluating())
            defer { child.close() }
            let clients = Clients(count: 4, seed: 11)
            defer { _ = clients.finish() }
            clients.send(to: try child.address())
            var lock: WriteLock?
            try outage("locked file", clients, child) {
                lock = try WriteLock(path: place.path)
            } end: {
                lock = nil
            }
            _ = lock
            if let disk {
                try outage("full disk", clients, child, begin: disk.fill, end: disk.empty)
            }
            let tally = try finish(clients, child)
            let log = try place.open()
            defer { log.close() }
            _ = try eventually("all is counted, after \(child.complaints)") {
                try log.isCounted() ? true : nil
            }
            try Invariants(log: log).checkUploads(tally)
            child.signal(SIGTERM)
            #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
        }
    }

    @Test("Kafka: the broker is frozen, killed, and it goes on by itself", .needsBroker)
    func kafka() throws {
        let broker = try Broker()
        defer { broker.close() }
        try withWorkplace { workplace in
            let place = "kafka:\(broker.bootstrap)"
            let made = try Child.run(
                ["topics", "create", "--log", place, "--replicas", "1", "--partitions", "4"])
            try #require(made.ending == .exited(0), "\(made.complaints)")
            let stage = Self.asked == nil ? ["collect"] : ["run"] + (try workplace.evaluating())
            let child = try Child(stage + ["--listen", "127.0.0.1:0", "--log", place])
            defer { child.close() }
            let clients = Clients(count: 4, seed: 12)
            defer { _ = clients.finish() }
            clients.send(to: try child.address())
            try outage("frozen broker", clients, child) {
                try broker.tell("pause")
            } end: {
                try broker.tell("resume")
            }
            try outage("killed broker", clients, child) {
                try broker.tell("kill")
            } end: {
                try broker.tell("restart")
            }
            let tally = try finish(clients, child)
            let log = try KafkaLog(KafkaSettings(bootstrap: broker.bootstrap))
            defer { log.close() }
            if Self.asked != nil {
                _ = try eventually("all is counted, after \(child.complaints)") {
                    try log.isCounted() ? true : nil
                }
            }
            try checkAcknowledged(tally, log)
            child.signal(SIGTERM)
            #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
        }
    }

    /// Every acknowledged event is there, and none twice. An upload of several records that was
    /// not acknowledged may be there in part: it is no transaction.
    private func checkAcknowledged(_ tally: Clients.Tally, _ log: some EventLog) throws {
        var found: [String: [Int64]] = [:]
        let reader = DocumentReader()
        for topic in Topic.inputs {
            for record in try log.stored(topic) {
                let value = try #require(reader.read(record.value), "\(record.place) is JSON")
                for event in value.array ?? [value] {
                    let token = try #require(event["token"]?.text)
                    found[token, default: []].append(try #require(event["n"]?.integer))
                }
            }
        }
        for (token, events) in tally.acknowledged {
            #expect(found[token].map { Set($0).count } == events, "\(token) was acknowledged")
        }
        let twice = found.filter { Set($0.value).count < $0.value.count }.map { token, numbers in
            "\(token): \(numbers.count - Set(numbers).count) of \(Set(numbers).count), "
                + (tally.acknowledged[token] == nil ? "refused" : "acknowledged")
        }
        #expect(twice.isEmpty, "no event is there twice")
    }
}
