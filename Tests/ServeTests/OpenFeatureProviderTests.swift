// The OFREP provider of PyPI against a listening edge, where Python can be given one.
import BrakeModel
import BrakeWire
import Foundation
import HTTPServer
import ProcessTestSupport
import Testing

@Suite struct OpenFeatureProviderTests {
    private func ask(_ edge: String, app: String, person: String) throws -> [String: JSONValue] {
        let python = try #require(Provider.python)
        let script = OutsideProgram.root + "ops/openfeature/try.py"
        let (ending, output) = try OutsideProgram.run([python, "-B", script, edge, app, person])
        try #require(ending == .exited(0), "\(output)")
        let reader = DocumentReader()
        var answers: [String: JSONValue] = [:]
        for line in output.split(separator: "\n") {
            let answer = reader.read(Array(line.utf8))
            if let key = answer?["key"]?.text { answers[key] = answer }
        }
        return answers
    }

    @Test(
        .enabled("no Python with openfeature-provider-ofrep, and none could be made") {
            Provider.python != nil
        })
    func `the provider of PyPI understands every answer`() throws {
        let world = EdgeWorld()
        try world.throttle("calm", .normal, revision: 1)
        try world.throttle("wary", .caution, revision: 1)
        try world.throttle("shop", .halt, revision: 1)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        let wary = try #require(AppID("wary"))
        try world.listening { listener in
            let edge = "http://127.0.0.1:\(listener.port)"
            let calm = try ask(edge, app: "calm", person: "d1")
            #expect(calm["ad_throttle_state"]?["value"]?.text == "Normal")
            #expect(calm["ads_interstitial"]?["value"] == .bool(true))
            #expect(calm["ads_interstitial"]?["variant"]?.text == "on")
            #expect(calm["ads_interstitial"]?["reason"]?.text == "TARGETING_MATCH")
            #expect(calm["ad_caps"]?["value"]?["per_hour"]?.integer == 3)
            #expect(calm["no_such_flag"]?["error"]?.text == "FLAG_NOT_FOUND")
            let halted = try ask(edge, app: "shop", person: "d1")
            for flag in ["ads_interstitial", "ads_banner", "ads_rewarded"] {
                #expect(halted[flag]?["value"] == .bool(false))
                #expect(halted[flag]?["error"] == nil)
            }
            let careful = try ask(edge, app: "wary", person: "d1")
            #expect(careful["ads_interstitial"]?["reason"]?.text == "SPLIT")
            #expect(
                careful["ads_interstitial"]?["value"]
                    == .bool(CautionSample.allows("d1", in: wary)))
            let nobody = try ask(edge, app: "wary", person: "")
            #expect(nobody["ads_interstitial"]?["error"]?.text == "TARGETING_KEY_MISSING")
            let nowhere = try ask(edge, app: "", person: "d1")
            #expect(nowhere["ads_banner"]?["error"]?.text == "INVALID_CONTEXT")
        }
    }
}

/// A Python that has the provider: the system's, one that is named, or one made for these tests.
private enum Provider {
    private static let package = "openfeature-provider-ofrep"
    private static let installSeconds = 60

    static let python: String? = {
        let made = OutsideProgram.root + ".build/openfeature"
        let named = ProcessInfo.processInfo.environment["ADBRAKE_PYTHON"]
        for python in [named, "/usr/bin/python3", made + "/bin/python"].compactMap(\.self)
        where isGood(python) {
            return python
        }
        // Once for this working copy; without a network, or without venv, there is none.
        let pip = [made + "/bin/pip", "install", "-q", package]
        for words in [["/usr/bin/python3", "-m", "venv", made], pip] {
            let run = try? OutsideProgram.run(words, seconds: installSeconds)
            guard run?.ending == .exited(0) else { return nil }
        }
        return isGood(made + "/bin/python") ? made + "/bin/python" : nil
    }()

    private static func isGood(_ python: String) -> Bool {
        let words = [python, "-c", "import openfeature.contrib.provider.ofrep"]
        return (try? OutsideProgram.run(words))?.ending == .exited(0)
    }
}
