// What the default policy makes of each scenario: the fleet played into the evaluation, hours in a
// moment, without a log or a network. Devices obey each decision five seconds later.
import BrakeModel
import BrakeWire
import Evaluate
import Testing

@testable import Traffic

@Suite struct ScenarioDecisionTests {
    private struct Decision: Equatable {
        var second: Int64
        var app: String
        var state: ThrottleState
        var cause: String
    }

    /// All decisions of the first seconds of a scenario.
    private func decisions(
        _ scenario: Scenario, seconds: Int64, rate: Double, obeys: Bool = false
    ) throws -> [Decision] {
        var playing = Playing(scenario, seed: 11, apps: 2, rate: rate)
        var replay = Replay(policy: BuiltInPolicies.default)
        let splitter = UploadSplitter()
        let reader = DocumentReader()
        var decisions: [Decision] = []
        var obeyed = 0
        for second in 1...seconds {
            let append = Playing.start + second * 1_000
            for upload in playing.fleet.advance(to: second * 1_000) {
                let split = try unsafe upload.bytes.withUnsafeBytes { bytes throws(UploadRefusal) in
                    unsafe try splitter.split(bytes)
                }
                for record in split.records {
                    replay.feed(Array(#"{"append":\#(append),"value":"#.utf8) + record.value)
                    replay.feed(Array("}\n".utf8))
                }
            }
            replay.feed(Array(#"{"append":\#(append)}"#.utf8) + [10])
            for line in replay.takeOutput().split(separator: 10) {
                let record = try #require(reader.read(Array(line)))
                let state = try #require(record["state"]?.text.flatMap { ThrottleState(name: $0) })
                decisions.append(
                    Decision(
                        second: second, app: try #require(record["app"]?.text), state: state,
                        cause: try #require(record["cause"]?.text)))
            }
            while obeys, obeyed < decisions.count, decisions[obeyed].second <= second - 5 {
                let decision = decisions[obeyed]
                let app = playing.fleet.tallies.firstIndex { $0.app.text == decision.app }
                playing.fleet.obey(
                    app: try #require(app), state: decision.state, revision: Int64(obeyed))
                obeyed += 1
            }
        }
        #expect(replay.counts.rejected.isEmpty)
        return decisions
    }

    @Test func `an ad SDK that crashes one app brakes that app, and no other`() throws {
        let scenario = Scenario(
            name: "late", about: "after the initial hold",
            troubles: [
                Trouble(
                    .adCrash(share: 0.2, formats: [.interstitial, .appOpen], vendor: "v"),
                    appsShare: 0.5, from: 900, to: 1_500)
            ])
        let decisions = try decisions(scenario, seconds: 1_500, rate: 60, obeys: true)
        let braked = decisions.filter { $0.state >= .throttle }
        #expect(braked.first.map { (900...1_080).contains($0.second) } == true, "\(decisions)")
        #expect(Set(braked.map(\.app)) == ["puzzle-garden"])
        #expect(braked.allSatisfy { $0.cause == "rule" })
    }

    @Test func `one looping device brakes nothing`() throws {
        let decisions = try decisions(.named("looping-device"), seconds: 900, rate: 60)
        #expect(decisions.allSatisfy { $0.state < .throttle }, "\(decisions)")
    }

    @Test func `deaths at launch are seen by the signs of life that are missing`() throws {
        let decisions = try decisions(.named("launch-crash"), seconds: 1_500, rate: 60)
        let braked = decisions.filter { $0.state >= .throttle }
        #expect(braked.first?.cause == "launch_failure", "\(decisions)")
        #expect(braked.first?.app == "puzzle-garden")
        #expect(Set(braked.map(\.app)) == ["puzzle-garden"])
    }

    @Test(arguments: ["calm", "night"])
    func `a fleet without fault is never braked`(scenario: String) throws {
        let decisions = try decisions(.named(scenario), seconds: 3_600, rate: 25)
        #expect(decisions.allSatisfy { $0.state < .throttle }, "\(decisions)")
        #expect(decisions.contains { $0.state == .normal })
    }
}
