// Collector, evaluator and edge as processes of their own over one file.
import Foundation
import HTTPClient
import ProcessTestSupport
import Runtime
import SQLiteLog
import Testing

@Suite("The stages, each in a process of its own")
struct StagesTests {
    @Test("are killed and frozen in turn, and the log stays whole")
    func killedInTurn() throws {
        try withWorkplace { workplace in
            let clients = Clients(count: 4, seed: 2)
            defer { _ = clients.finish() }
            var (collect, evaluate, serve) = (
                try workplace.start("collect"),
                try workplace.start("evaluate", try workplace.evaluating()),
                try workplace.start("serve")
            )
            defer { for child in [collect, evaluate, serve] { child.close() } }
            for _ in 0..<3 {
                clients.send(to: try collect.address())
                try freeze(collect, while: clients)
                try end(evaluate)
                clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
                evaluate = try workplace.start("evaluate", try workplace.evaluating())
                try end(serve)
                clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
                serve = try workplace.start("serve")
                clients.waitForUploads(20, milliseconds: Child.patienceMilliseconds)
                try end(collect)
                clients.send(to: nil)
                collect = try workplace.start("collect")
            }
            clients.send(to: try collect.address())
            clients.waitForUploads(40, milliseconds: Child.patienceMilliseconds)
            let tally = try #require(clients.finish())
            let log = try workplace.open()
            defer { log.close() }
            _ = try eventually("all is counted, after \(evaluate.complaints)") {
                try log.isCounted() ? true : nil
            }
            try checkAnswers(of: try serve.address(), log)
            for child in [serve, collect, evaluate] {
                child.signal(SIGTERM)
                #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
            }
            let invariants = Invariants(log: log)
            _ = try invariants.checkAll(tally, workplace)
            try invariants.checkPositions()
        }
    }

    /// Holds the collector still for longer than the evaluator's clock is behind, now and then in
    /// the middle of a transaction: its records come after the clock has passed them.
    private func freeze(_ collect: Child, while clients: Clients) throws {
        let pause = StopSignal()
        for _ in 0..<5 {
            clients.waitForUploads(7, milliseconds: Child.patienceMilliseconds)
            collect.signal(SIGSTOP)
            pause.wait(milliseconds: 150)
            collect.signal(SIGCONT)
        }
    }

    /// Holds the evaluator still at a moment at which it does not have the file's lock: uploads get
    /// through.
    private func freezeUnlocked(_ evaluate: Child, while clients: Clients) throws {
        _ = try eventually("uploads beside a frozen evaluator") { () -> Bool? in
            evaluate.signal(SIGSTOP)
            if clients.waitForUploads(5, milliseconds: 2_000) { return true }
            evaluate.signal(SIGCONT)
            return nil
        }
    }

    private func end(_ child: Child) throws {
        child.signal(SIGKILL)
        #expect(try child.waitForEnd() == .killed(SIGKILL), "\(child.complaints)")
        #expect(!child.complaints.contains(#""level":"error""#), "\(child.complaints)")
    }

    /// A frozen one does not know that another has taken over: nothing of what it still holds may
    /// come into the log.
    @Test(
        "let the newest evaluator alone go on: the one before stops, and says why",
        arguments: [false, true])
    func takeOver(isFrozen: Bool) throws {
        try withWorkplace { workplace in
            let clients = Clients(count: 2, seed: 3)
            defer { _ = clients.finish() }
            let collect = try workplace.start("collect")
            defer { collect.close() }
            clients.send(to: try collect.address())
            let first = try workplace.start("evaluate", try workplace.evaluating())
            defer { first.close() }
            _ = try first.line(with: "partitions restored")
            clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
            if isFrozen { try freezeUnlocked(first, while: clients) }
            let second = try workplace.start("evaluate", try workplace.evaluating())
            defer { second.close() }
            if isFrozen {
                _ = try second.line(with: "partitions restored")
                clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
                first.signal(SIGCONT)
            }
            #expect(try first.waitForEnd() == .exited(1))
            #expect(first.complaints.contains("another evaluator has taken over"))
            clients.waitForUploads(30, milliseconds: Child.patienceMilliseconds)
            let tally = try #require(clients.finish())
            let log = try workplace.open()
            defer { log.close() }
            _ = try eventually("all is counted") { try log.isCounted() ? true : nil }
            second.signal(SIGTERM)
            #expect(try second.waitForEnd() == .exited(0), "\(second.complaints)")
            _ = try Invariants(log: log).checkAll(tally, workplace)
        }
    }

    @Test("grow stale and careful at the edge while no evaluator runs, and recover by themselves")
    func stale() throws {
        try withWorkplace { workplace in
            let collect = try workplace.start("collect")
            defer { collect.close() }
            let first = try workplace.start("evaluate", try workplace.evaluating())
            defer { first.close() }
            let serve = try workplace.start(
                "serve", ["--stale-after", "2500ms", "--validity", "10s"])
            defer { serve.close() }
            let connection = HTTPConnection()
            let address = try serve.address()
            _ = try eventually("the edge is ready") {
                try connection.get("\(address)/readyz").status == 200 ? true : nil
            }
            let sent = try connection.post(
                "\(try collect.address())/v1/events",
                #"{"type":"session","app":"calm","session":"s1"}"#)
            #expect(sent.status == 202)
            func waitFor(_ what: String, _ isSo: (Answer) -> Bool) throws {
                _ = try eventually(what) {
                    let answer = try Answer(about: "calm", of: address, connection)
                    #expect(answer.status == 200)
                    return isSo(answer) ? true : nil
                }
            }
            try waitFor("Normal") { $0.state == "Normal" && !$0.isStale }
            first.signal(SIGKILL)
            try waitFor("stale") { $0.state == "Normal" && $0.isStale }
            try waitFor("expired") { $0.state == "Caution" && $0.cause == "expired" }
            let second = try workplace.start("evaluate", try workplace.evaluating())
            defer { second.close() }
            try waitFor("Normal again") { $0.state == "Normal" && !$0.isStale }
        }
    }
}
