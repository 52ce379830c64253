// A run over real sockets: what arrives is what is reported, whatever the collector does meanwhile.
import BrakeModel
import HTTPServer
import Runtime
import Testing

@testable import Traffic

@Suite struct TrafficRunTests {
    private func settings(
        _ service: ServiceDouble, rate: Double = 400, batch: Int = 0, milliseconds: Int = 1_500
    ) -> TrafficSettings {
        var settings = TrafficSettings(
            fleet: FleetSettings(
                scenario: .named("calm"), seed: 3, start: SystemClock.wallMilliseconds(), apps: 3,
                eventsPerSecond: rate, speed: 20, batch: batch),
            collector: service.url)
        settings.durationMilliseconds = milliseconds
        return settings
    }

    private func run(_ settings: TrafficSettings, stop: StopSignal = StopSignal())
        -> TrafficSummary
    {
        var run = TrafficRun(settings)
        return run.run(stop: stop) { _ in }
    }

    /// Compares what arrived with what the run says it sent.
    private func compare(_ service: ServiceDouble, _ summary: TrafficSummary) throws {
        var recount = Recount()
        for upload in service.state.read({ $0.uploads }) {
            try recount.add(upload, append: SystemClock.wallMilliseconds())
        }
        #expect(recount.rejected == 0)
        #expect(recount.events == summary.status.totals.accepted)
        for line in summary.apps {
            let counted = recount.apps[line.app.text] ?? Recount.App()
            #expect(counted.sessions.count == line.tally.sessions)
            #expect(counted.crashes.count == line.tally.crashes)
            #expect(counted.impressions == line.tally.impressions)
        }
    }

    @Test(arguments: [0, 50])
    func `what a run reports is what the collector took`(batch: Int) throws {
        let service = try ServiceDouble()
        defer { service.stop() }
        var settings = settings(service, batch: batch)
        settings.key = "secret"
        let summary = run(settings)
        let totals = summary.status.totals
        #expect(totals.sent > 100)
        #expect(totals.accepted == totals.sent)
        #expect(summary.isComplete)
        #expect(service.state.read { $0.tokens } == ["secret"])
        try compare(service, summary)
    }

    @Test func `a busy collector is asked again, and nothing is lost or sent twice`() throws {
        let service = try ServiceDouble { attempt in
            switch attempt % 5 {
            case 0: Response.error(429, "busy", hint: "later").with("Retry-After", "0")
            case 2: Response.error(503, "slow", hint: "later")
            case 3: Response.error(500, "broken", hint: "later")
            default: nil
            }
        }
        defer { service.stop() }
        let summary = run(settings(service, rate: 100, batch: 100))
        let totals = summary.status.totals
        #expect(totals.busyAnswers > 0 && totals.serverErrors > 0)
        #expect(totals.lost == 0 && totals.accepted == totals.sent && totals.sent > 0)
        try compare(service, summary)
    }

    @Test(arguments: [401, 403])
    func `a collector that refuses the key ends the run at once`(status: Int) throws {
        let service = try ServiceDouble { _ in
            .error(status, "no", hint: "give the key of this app")
        }
        defer { service.stop() }
        let summary = run(settings(service, milliseconds: 600_000))
        #expect(summary.status.totals.isRefused)
        #expect(summary.status.totals.accepted == 0)
        #expect(!summary.isComplete)
        #expect(summary.text().contains("give the key of this app"))
    }

    @Test func `a run without end stops when asked`() throws {
        let service = try ServiceDouble()
        defer { service.stop() }
        let stop = StopSignal()
        var run = TrafficRun(settings(service, milliseconds: 0))
        let summary = run.run(stop: stop) { status in
            if status.totals.accepted > 0 { stop.request(reason: "the test has seen enough") }
        }
        #expect(summary.status.totals.accepted > 0)
    }

    @Test func `a fleet that obeys asks with a validator, and follows a change`() throws {
        let service = try ServiceDouble()
        defer { service.stop() }
        var settings = settings(service, milliseconds: 0)
        settings.hasFeedback = true
        let stop = StopSignal()
        var seen: [[Int]] = []
        var run = TrafficRun(settings)
        _ = run.run(stop: stop) { status in
            guard let states = status.appsByState else { return }
            seen.append(states)
            // All apps are known to be in Caution; a round without news; then one is halted.
            if states[1] == 3 && service.state.read({ $0.notModified }) >= 3 {
                service.state.withLock {
                    $0.states["word-rush"] = .halt
                    $0.revision = 2
                }
            }
            if states[3] == 1 { stop.request(reason: "the change has been followed") }
            if seen.count > 120 { stop.request(reason: "two minutes are enough") }
        }
        #expect(seen.contains([0, 3, 0, 0]))
        #expect(seen.last == [0, 2, 0, 1])
    }

    @Test func `without a collector everything is lost, and said`() throws {
        let service = try ServiceDouble()
        var settings = settings(service, rate: 50)
        service.stop()
        settings.durationMilliseconds = 300
        let stop = StopSignal()
        var run = TrafficRun(settings)
        let summary = run.run(stop: stop) { status in
            if status.totals.unanswered > 0 { stop.request(reason: "the test has seen enough") }
        }
        let totals = summary.status.totals
        #expect(totals.accepted == 0)
        #expect(totals.lost == totals.sent)
        #expect(!summary.isComplete)
    }
}
