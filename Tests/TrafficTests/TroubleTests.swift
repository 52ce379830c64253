// What scenarios do to a fleet, and what a fleet does that obeys.
import BrakeModel
import Testing

@testable import Traffic

@Suite struct TroubleTests {
    /// What devices sent of one app from one second to another.
    private struct Part {
        var sessions = 0
        var crashes = 0
        var alive = 0
        var impressions = 0

        init(_ tally: AppTally, since before: AppTally = AppTally()) {
            sessions = tally.sessions - before.sessions
            crashes = tally.crashes - before.crashes
            alive = tally.alive - before.alive
            impressions = tally.impressions - before.impressions
        }

        var crashShare: Double { Double(crashes) / Double(sessions) }
    }

    private func part(
        _ playing: inout Playing, app: Int, from: Int64, to: Int64
    ) throws -> Part {
        try playing.live(until: from)
        let before = playing.fleet.tallies[app].tally
        try playing.live(until: to)
        return Part(playing.fleet.tallies[app].tally, since: before)
    }

    @Test func `an ad SDK update crashes the apps that have it, on many devices`() throws {
        var playing = Playing(.named("ad-sdk-crash"), apps: 3, rate: 300)
        let bad = try part(&playing, app: 0, from: 110, to: 210)
        #expect(bad.crashShare > 0.03, "\(bad)")
        let app = try #require(playing.recount.apps["puzzle-garden"])
        #expect(app.crashedDevices.count > 20)
        for other in 1...2 {
            let tally = playing.fleet.tallies[other].tally
            #expect(Part(tally).crashShare < 0.005)
        }
        let after = try part(&playing, app: 0, from: 420, to: 600)
        // Those who come back late still report.
        #expect(after.crashShare < bad.crashShare / 3, "\(after)")
    }

    @Test func `one looping device crashes dozens of times a minute, and is one device`() throws {
        var playing = Playing(.named("looping-device"), apps: 3, rate: 100)
        let loop = try part(&playing, app: 0, from: 120, to: 240)
        #expect((60...100).contains(loop.crashes), "\(loop)")
        let app = try #require(playing.recount.apps["puzzle-garden"])
        #expect(app.crashedDevices.count < 5)
        #expect(playing.fleet.tallies[1].tally.crashes < 5)
        let after = try part(&playing, app: 0, from: 620, to: 700)
        #expect(after.crashes < 5)
    }

    @Test func `a build that dies at launch shows no life and reports no crash`() throws {
        var playing = Playing(
            .named("launch-crash"), apps: 2, rate: 100, isRecounted: false)
        let well = try part(&playing, app: 0, from: 120, to: 600)
        let dying = try part(&playing, app: 0, from: 700, to: 1_000)
        #expect(Double(well.alive) / Double(well.sessions) > 0.93)
        #expect(Double(dying.alive) / Double(dying.sessions) < 0.45)
        #expect(dying.sessions > 100)
        #expect(dying.crashShare < 0.01)
    }

    @Test func `at night traffic falls, and nobody crashes for it`() throws {
        var playing = Playing(.named("night"), apps: 2, rate: 50, isRecounted: false)
        let day = try part(&playing, app: 0, from: 300, to: 900)
        let night = try part(&playing, app: 0, from: 1_000, to: 1_600)
        #expect(night.sessions * 20 < day.sessions)
        let morning = try part(&playing, app: 0, from: 2_800, to: 3_400)
        #expect(morning.sessions * 10 > day.sessions * 7)
    }

    @Test(arguments: ThrottleState.allCases)
    func `devices obey the state of their app, and others go on`(state: ThrottleState) throws {
        var playing = Playing(.named("ad-sdk-crash"), apps: 2, rate: 150, isRecounted: false)
        playing.fleet.obey(app: 0, state: state, revision: 7)
        let uploads = playing.fleet.advance(to: 300_000)
        var shown: [String: Int] = [:]
        for upload in uploads {
            for record in String(decoding: upload.bytes, as: UTF8.self).split(separator: "}") {
                guard record.contains(#""event":"shown""#) else { continue }
                guard record.contains(#""app":"puzzle-garden""#) else {
                    #expect(!record.contains(#""revision""#))
                    continue
                }
                #expect(record.contains(#""state":"\#(state.name)","revision":7"#))
                for format in AdFormat.allCases
                where record.contains(#""format":"\#(format.name)""#) {
                    shown[format.name, default: 0] += 1
                }
            }
        }
        let covering = ["interstitial", "app_open", "rewarded_interstitial"]
            .reduce(0) { $0 + shown[$1, default: 0] }
        switch state {
        case .normal, .caution:
            #expect(covering > 0)
            #expect(shown["banner", default: 0] > 0)
        case .throttle:
            #expect(covering == 0)
            #expect(shown["banner", default: 0] > 0 && shown["rewarded", default: 0] > 0)
        case .halt: #expect(shown == [:])
        }
        // Without the ads that crash it, the app is well.
        let crashes = playing.fleet.tallies[0].tally.crashes
        #expect(state >= .throttle ? crashes < 5 : crashes > 10, "\(crashes)")
    }

    @Test func `in Caution the same half of the devices goes without`() throws {
        let playing = Playing(.named("calm"), apps: 1, rate: 2_000)
        let app = playing.fleet.apps[0]
        let sample = (0..<app.deviceCount).filter { playing.fleet.isInSample(device: $0, app) }
        let again = (0..<app.deviceCount).filter { playing.fleet.isInSample(device: $0, app) }
        #expect(sample == again)
        let share = Double(sample.count) / Double(app.deviceCount)
        #expect(share > 0.45 && share < 0.55)
    }
}
