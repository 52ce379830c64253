// The program is killed at random moments, again and again, under load.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPClient
import ProcessTestSupport
import Runtime
import SQLiteLog
import Testing

@Suite("The program, killed again and again")
struct KillTests {
    /// `ADBRAKE_KILLS` in the environment asks for more.
    private static let kills =
        ProcessInfo.processInfo.environment["ADBRAKE_KILLS"].flatMap { Int($0) } ?? 12

    /// Uploads from several clients while the program is killed; then holds the log against what
    /// the clients were told, and its decisions against an undisturbed replay.
    @Test("loses nothing, counts nothing twice, and decides as if nothing had happened")
    func killed() throws {
        let seed = Self.seed()
        print("KillTests.killed seed \(seed), \(Self.kills) kills: ADBRAKE_SEED repeats it")
        var random = SeededGenerator(seed: seed)
        try withWorkplace { workplace in
            let clients = Clients(count: 4, seed: seed)
            defer { _ = clients.finish() }
            for _ in 0..<Self.kills {
                try runAndKill(workplace, clients, &random)
            }
            let last = try start(workplace, &random)
            defer { last.close() }
            clients.send(to: try last.address())
            clients.waitForUploads(60, milliseconds: Child.patienceMilliseconds)
            let tally = try #require(clients.finish())
            let log = try workplace.open()
            defer { log.close() }
            _ = try eventually("all is counted, after \(last.complaints)") {
                try log.isCounted() ? true : nil
            }
            try checkAnswers(of: try last.address(), log)
            last.signal(SIGTERM)
            #expect(try last.waitForEnd() == .exited(0), "\(last.complaints)")
            let invariants = Invariants(log: log)
            let changes = try invariants.checkAll(tally, workplace)
            try invariants.checkPositions()
            print(
                "KillTests.killed \(tally.acknowledged.count) uploads of \(tally.events) events "
                    + "acknowledged, \(tally.unanswered.count) unanswered, \(changes) changes of state"
            )
            #expect(changes > 2 * Workload.apps.count, "the states have moved")
        }
    }

    private static func seed() -> UInt64 {
        let given = ProcessInfo.processInfo.environment["ADBRAKE_SEED"].flatMap { UInt64($0) }
        return given ?? UInt64.random(in: 0...UInt64.max)
    }

    private func start(_ workplace: Workplace, _ random: inout SeededGenerator) throws -> Child {
        let lanes = ["--lanes", "\(1 + random.next(below: 3))"]
        return try workplace.start("run", try workplace.evaluating() + lanes)
    }

    /// Kills it while it restores, or after some more uploads and a while.
    private func runAndKill(
        _ workplace: Workplace, _ clients: Clients, _ random: inout SeededGenerator
    ) throws {
        let child = try start(workplace, &random)
        defer { child.close() }
        if random.chance(20) {
            _ = try child.line(with: "log opened")
        } else {
            clients.send(to: try child.address())
            // Most live shorter than it takes until every partition has a new snapshot.
            let uploads = 1 + random.next(below: random.chance(20) ? 250 : 60)
            clients.waitForUploads(uploads, milliseconds: 3_000)
        }
        let moment = StopSignal()
        moment.wait(milliseconds: random.next(below: 300))
        #expect(child.isRunning, "\(child.complaints)")
        child.signal(SIGKILL)
        clients.send(to: nil)
        #expect(try child.waitForEnd() == .killed(SIGKILL))
        #expect(!child.complaints.contains("\"level\":\"error\""), "\(child.complaints)")
    }
}
