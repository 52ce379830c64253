// The fleet as a pure world: its bytes, its counts, its fate.
import BrakeModel
import BrakeWire
import Testing

@testable import Traffic

@Suite struct FleetTests {
    private static let scenarios = Scenario.builtIn.map(\.name)

    @Test(arguments: [0, 500])
    func `the same seed gives the same bytes, another seed others`(batch: Int) throws {
        var one = Playing(.named("ad-sdk-crash"), seed: 42, batch: batch)
        var same = Playing(.named("ad-sdk-crash"), seed: 42, batch: batch)
        var other = Playing(.named("ad-sdk-crash"), seed: 43, batch: batch)
        try one.live(until: 120)
        try same.live(until: 120)
        try other.live(until: 120)
        #expect(!one.uploads.isEmpty)
        #expect(one.uploads == same.uploads)
        #expect(one.uploads != other.uploads)
    }

    @Test func `how the clock is moved does not change what is sent`() throws {
        var steps = Playing(.named("ad-sdk-crash"))
        try steps.live(until: 60)
        var leap = Playing(.named("ad-sdk-crash"))
        #expect(leap.fleet.advance(to: 60_000) == steps.uploads)
    }

    @Test(arguments: scenarios, [0, 40])
    func `what the fleet says it sent is what its uploads say`(
        scenario: String, batch: Int
    ) throws {
        var playing = Playing(.named(scenario), apps: 3, rate: 60, speed: 4, batch: batch)
        try playing.live(until: 1_200)
        try playing.finish()
        let recount = playing.recount
        #expect(recount.rejected == 0)
        var events = 0
        for (app, tally) in playing.fleet.tallies {
            let counted = try #require(recount.apps[app.text])
            #expect(counted.sessions.count == tally.sessions)
            #expect(counted.alive.count == tally.alive)
            #expect(counted.crashes.count == tally.crashes)
            #expect(counted.crashedSessions.count == tally.crashedSessions)
            #expect(counted.impressions == tally.impressions)
            #expect(counted.adFailures == tally.adFailures)
            #expect(counted.softErrors == tally.softErrors)
            #expect(counted.signals == tally.signals)
            // A crash is known with its session: it never counts one of its own.
            #expect(counted.crashedSessions.isSubset(of: counted.sessions))
            events += tally.events
        }
        #expect(recount.events == events)
        #expect(playing.uploads.reduce(0) { $0 + $1.events } == events)
        let sizes = playing.uploads.map(\.events)
        if batch > 0 { #expect(sizes.max() == batch) }
    }

    @Test func `lost answers bring events twice, with the same ids`() throws {
        var playing = Playing(.named("calm"), rate: 200)
        try playing.live(until: 200)
        let repeated = playing.fleet.tallies.reduce(0) { $0 + $1.tally.repeatedEvents }
        #expect(repeated > 0)
        let occurrences = playing.recount.occurrences.values
        #expect(occurrences.reduce(0) { $0 + $1 - 1 } == repeated)
        #expect(occurrences.allSatisfy { $0 <= 2 })
    }

    @Test func `device clocks drift, and times come in four units`() throws {
        var playing = Playing(.named("calm"), rate: 300)
        try playing.live(until: 100)
        let decoded = playing.recount.decoded
        let converted = decoded.count { $0.convertedTimes > 0 }
        #expect(Double(converted) / Double(decoded.count) > 0.05)
        #expect(Double(converted) / Double(decoded.count) < 0.25)
        let ahead = decoded.map { $0.sent - $0.append }
        #expect(ahead.contains { $0 > 86_000_000 })
        #expect(ahead.contains { $0 > 60_000 && $0 < 2_000_000 })
        #expect(ahead.contains { $0 < -60_000 })
        let near = ahead.count { abs($0) < 2_500 }
        #expect(Double(near) / Double(decoded.count) > 0.6)
    }

    @Test(arguments: [1, 20])
    func `records say real times at any speed`(speed: Int) throws {
        var playing = Playing(.named("calm"), rate: 200, speed: Double(speed), batch: 100)
        try playing.live(until: Int64(40 * speed))
        for event in playing.recount.decoded {
            // What a device tells is off by its clock, which `sent` shares.
            let age = event.sent - event.at
            #expect((0...2_500_000).contains(age))
        }
        let perSecond = Double(playing.recount.events) / 40
        #expect(perSecond > 120 && perSecond < 280)
    }

    @Test func `the rate is the one asked for, once warm`() throws {
        var playing = Playing(.named("calm"), apps: 6, rate: 400, isRecounted: false)
        try playing.live(until: 20)
        for _ in 0..<3 {
            let before = playing.events
            try playing.live(until: playing.fleet.now / 1_000 + 100)
            let perSecond = Double(playing.events - before) / 100
            #expect(perSecond > 340 && perSecond < 460, "\(perSecond) events/s")
        }
    }

    @Test func `a fleet that is held up tells later times`() throws {
        var playing = Playing(.named("calm"))
        try playing.live(until: 30)
        playing.fleet.holdUp(milliseconds: 5_000)
        #expect(playing.fleet.realTime(at: 30_000) == Playing.start + 35_000)
        #expect(playing.fleet.worldTime(at: Playing.start + 36_000) == 31_000)
    }

    @Test func `crashes come late: at the next launch, most of them`() throws {
        var playing = Playing(.named("ad-sdk-crash"), apps: 1, rate: 400)
        try playing.live(until: 300)
        var late = 0
        var crashes = 0
        for event in playing.recount.decoded where event.meaning == .crash {
            crashes += 1
            if event.sent - event.at > 1_000 { late += 1 }
            #expect(event.sessionAt <= event.at)
        }
        #expect(crashes > 30)
        #expect(Double(late) / Double(crashes) > 0.6)
    }
}

extension Scenario {
    /// One of the built-in scenarios.
    static func named(_ name: String) -> Scenario {
        guard let scenario = builtIn(named: name) else {
            preconditionFailure("\(name) is built in")
        }
        return scenario
    }
}
