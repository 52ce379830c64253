// The stop signal, the signals of the operating system and worker threads, across real threads.
import Glibc
import Testing

@testable import Runtime

@Suite struct StopSignalTests {
    @Test func `A waiting thread sees the stop and its first reason`() {
        let stop = StopSignal()
        let seen = Monitor<String?>(nil)
        let thread = WorkerThread(name: "waits") {
            stop.wait(milliseconds: 10_000)
            let reason = stop.reason
            seen.withLock { $0 = reason }
        }
        stop.request(reason: "first")
        stop.request(reason: "second")
        thread.join()
        #expect(seen.read { $0 } == "first")
    }

    @Test func `A wait ends at its deadline without a stop`() {
        #expect(StopSignal().wait(milliseconds: 1) == false)
        #expect(StopSignal().wait(milliseconds: -5) == false)
    }

    @Test func `A hook runs once, also when it comes late`() {
        let stop = StopSignal()
        let count = Monitor(0)
        stop.whenRequested { count.withLock { $0 += 1 } }
        stop.request(reason: "test")
        stop.request(reason: "again")
        #expect(count.read { $0 } == 1)
        stop.whenRequested { count.withLock { $0 += 1 } }
        #expect(count.read { $0 } == 2)
    }

    @Test func `A hook may look at its own signal`() {
        let stop = StopSignal()
        let reason = Monitor<String?>(nil)
        stop.whenRequested {
            let now = stop.reason
            reason.withLock { $0 = now }
        }
        stop.request(reason: "test")
        #expect(reason.read { $0 } == "test")
    }
}

@Suite struct MonitorTests {
    @Test func `Values handed over by many threads all arrive`() {
        let queue = Monitor<[Int]>([])
        let threads = (0..<4).map { writer in
            WorkerThread(name: "writer \(writer)") {
                for value in 0..<1_000 { queue.withLock { $0.append(writer * 1_000 + value) } }
            }
        }
        var taken: Set<Int> = []
        while taken.count < 4_000 {
            let some = queue.wait(milliseconds: 10_000) { queue -> [Int]? in
                defer { queue = [] }
                return queue.isEmpty ? nil : queue
            }
            guard let some else { break }
            taken.formUnion(some)
        }
        for thread in threads { thread.join() }
        #expect(taken.count == 4_000)
    }
}

@Suite struct SignalsTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `The second request to stop exits with the signal's status`(signal: Int32) {
        var sequence = SignalSequence()
        #expect(sequence.receive(SIGHUP) == .reload)
        #expect(sequence.receive(signal) == .stop(reason: signal == SIGTERM ? "SIGTERM" : "SIGINT"))
        #expect(sequence.receive(SIGHUP) == .ignore)
        #expect(sequence.receive(SIGTERM) == .exit(143))
        #expect(sequence.receive(SIGINT) == .exit(130))
    }

    @Test func `Signals reach the reload hook and the stop signal`() {
        let stop = StopSignal()
        let reloads = Monitor(0)
        let signals = Signals(stop: stop) { reloads.withLock { $0 += 1 } }
        signals.deliver(SIGHUP)
        #expect(reloads.wait(milliseconds: 10_000) { $0 == 1 ? true : nil } == true)
        signals.deliver(SIGTERM)
        #expect(stop.wait(milliseconds: 10_000))
        #expect(stop.reason == "SIGTERM")
    }
}
