// Starting and stopping together, with real threads.
import Testing

@testable import Runtime

@Suite struct ServiceGroupTests {
    private let log = CapturedLog()
    private var logger: Logger { Logger(part: "run", to: log) }

    private struct Broken: Error, CustomStringConvertible {
        var description: String { "the log is out of reach" }
    }

    @Test func `Services stop in the reverse order of starting, each before the next is asked`() {
        let stop = StopSignal()
        let order = Monitor<[String]>([])
        let services = ["log", "evaluate", "serve"].map { name in
            Service(name) { stop in
                while !stop.wait(milliseconds: 1_000) {}
                order.withLock { $0.append(name) }
            }
        }
        stop.request(reason: "SIGTERM")
        #expect(ServiceGroup(services, log: logger).run(stop: stop) == 0)
        #expect(order.read { $0 } == ["serve", "evaluate", "log"])
        #expect(log.line("stopping")?.metadata == ["reason": "SIGTERM"])
    }

    @Test func `The first failure stops all and is the reason given`() {
        let services = [
            Service("waits") { while !$0.wait(milliseconds: 1_000) {} },
            Service("fails") { _ in throw Broken() },
        ]
        #expect(ServiceGroup(services, log: logger).run(stop: StopSignal()) == 1)
        #expect(
            log.line("service failed")?.metadata
                == ["service": "fails", "reason": "the log is out of reach"])
    }

    @Test func `A service that returns unasked is a failure unless it ends by itself`() {
        let short = Service("short") { _ in }
        #expect(ServiceGroup([short], log: logger).run(stop: StopSignal()) == 1)
        #expect(log.line("service ended unasked") != nil)
        let replay = Service("replay", endsByItself: true) { _ in }
        #expect(ServiceGroup([replay], log: logger).run(stop: StopSignal()) == 0)
    }

    @Test func `A service that does not stop is named and does not hold the process`() {
        let release = StopSignal()
        let stop = StopSignal()
        stop.request(reason: "test")
        let stuck = Service("stuck") { _ in release.wait(milliseconds: 60_000) }
        let group = ServiceGroup([stuck], log: logger, graceMilliseconds: 20)
        #expect(group.run(stop: stop) == 1)
        #expect(log.line("service did not stop in time")?.metadata["service"] == "stuck")
        release.request(reason: "the test is over")
    }

    @Test func `A failure while stopping is a failure of the group`() {
        let stop = StopSignal()
        stop.request(reason: "test")
        let service = Service("flush") { stop in
            stop.wait(milliseconds: 10_000)
            throw Broken()
        }
        #expect(ServiceGroup([service], log: logger).run(stop: stop) == 1)
        #expect(log.line("service failed while stopping") != nil)
    }
}
