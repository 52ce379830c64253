// A stop that is asked for, under load, and the start after it.
import BrakeModel
import Foundation
import ProcessTestSupport
import Runtime
import SQLiteLog
import Testing

@Suite("The program, asked to stop")
struct StopTests {
    @Test("ends well under load, keeps what it has accepted, and goes on from its last snapshots")
    func stopUnderLoad() throws {
        try withWorkplace { workplace in
            let clients = Clients(count: 4, seed: 1)
            defer { _ = clients.finish() }
            let first = try workplace.start("run", try workplace.evaluating())
            defer { first.close() }
            clients.send(to: try first.address())
            clients.waitForUploads(150, milliseconds: Child.patienceMilliseconds)
            first.signal(SIGTERM)
            #expect(try first.waitForEnd() == .exited(0), "\(first.complaints)")
            clients.send(to: nil)
            let tally = try #require(clients.finish())
            let second = try workplace.start("run", try workplace.evaluating())
            defer { second.close() }
            // All 16 partitions have a snapshot, and one epoch that points to it.
            let line = try second.line(with: "partitions restored")
            #expect(line.contains(#""epochs_counted_again":16,"#), "\(line)")
            #expect(line.contains(#""snapshots":16"#), "\(line)")
            let log = try workplace.open()
            defer { log.close() }
            _ = try eventually("all is counted") { try log.isCounted() ? true : nil }
            second.signal(SIGTERM)
            #expect(try second.waitForEnd() == .exited(0), "\(second.complaints)")
            // And once more, from the topics alone.
            let third = try workplace.start("run", try workplace.evaluating() + ["--rebuild"])
            defer { third.close() }
            _ = try third.line(with: "partitions restored")
            let rebuilt = third.complaints.split(separator: "\n").filter {
                $0.contains("partition rebuilt") && $0.contains("every epoch from the first")
            }
            #expect(rebuilt.count == 16, "\(third.complaints)")
            third.signal(SIGTERM)
            #expect(try third.waitForEnd() == .exited(0), "\(third.complaints)")
            let invariants = Invariants(log: log)
            _ = try invariants.checkAll(tally, workplace)
            try invariants.checkPositions()
        }
    }

    @Test("ends well at whatever moment of its start it is asked")
    func stopWhileStarting() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("StopTests.stopWhileStarting seed \(seed)")
        var random = SeededGenerator(seed: seed)
        try withWorkplace { workplace in
            let clients = Clients(count: 2, seed: seed)
            defer { _ = clients.finish() }
            let lanes = ["--lanes", "2"]
            for round in 0..<8 {
                let child = try workplace.start("run", try workplace.evaluating() + lanes)
                defer { child.close() }
                _ = try child.line(with: "log opened")
                if round % 2 == 0 {
                    clients.send(to: try child.address())
                    clients.waitForUploads(10, milliseconds: Child.patienceMilliseconds)
                }
                StopSignal().wait(milliseconds: random.next(below: 120))
                child.signal(SIGTERM)
                #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
                #expect(!child.complaints.contains(#""level":"error""#), "\(child.complaints)")
                clients.send(to: nil)
            }
            let tally = try #require(clients.finish())
            let log = try workplace.open()
            defer { log.close() }
            // It may have been stopped each time before it had counted what it had accepted.
            let last = try workplace.start("run", try workplace.evaluating() + lanes)
            defer { last.close() }
            _ = try last.line(with: "log opened")
            _ = try eventually("all is counted") { try log.isCounted() ? true : nil }
            last.signal(SIGTERM)
            #expect(try last.waitForEnd() == .exited(0), "\(last.complaints)")
            _ = try Invariants(log: log).checkAll(tally, workplace)
        }
    }

    @Test("is stopped by a second signal at once", arguments: [SIGTERM, SIGINT])
    func impatient(number: Int32) throws {
        try withWorkplace { workplace in
            let child = try workplace.start("serve")
            defer { child.close() }
            _ = try child.address()
            child.signal(number)
            _ = try child.line(with: "\"msg\":\"stopping\"")
            child.signal(number)
            let ending = try child.waitForEnd()
            #expect(ending == .exited(0) || ending == .exited(128 + number))
        }
    }
}
