// Scenario files: equal to the built-in ones, and refused with every problem named.
import Testing

@testable import Traffic

@Suite struct ScenarioTests {
    private static let folder = #filePath.replacing(
        "Tests/TrafficTests/ScenarioTests.swift", with: "ops/scenarios/")

    @Test(arguments: Scenario.builtIn.map(\.name))
    func `a built-in scenario is that of its file`(name: String) throws {
        let bytes = try TextFile.read(
            Self.folder + name + ".json", bytesMax: Scenario.fileBytesMax)
        #expect(try Scenario(json: bytes) == Scenario.builtIn(named: name))
    }

    @Test func `a small file needs a name and a sentence`() throws {
        let scenario = try Scenario(json: Array(#"{"name":"n","about":"a"}"#.utf8))
        #expect(scenario == Scenario(name: "n", about: "a"))
    }

    @Test(arguments: [
        ("", ["not a JSON document"]),
        ("[]", ["the document is not an object"]),
        (
            #"{"nam":"x","crash_share":2,"troubles":7}"#,
            [
                "nam: unknown field", "name: expected a text of 1 to 200 characters",
                "about: expected a text of 1 to 200 characters",
                "crash_share: expected a number from 0 to 1",
                "troubles: expected at most 32 objects",
            ]
        ),
        (
            #"""
            {"name":"n","about":"a","troubles":[
              {"kind":"ad_crash","from_s":9,"to_s":9,"formats":["banner","poster"],"vendor":"v"},
              {"kind":"flood","from_s":-1},
              {"kind":"crash_loop","from_s":0,"to_s":5,"per_minute":99,"share":1},
              {"kind":"lull","from_s":0,"to_s":5,"share":1.5,"apps_share":"all"},
              7
            ]}
            """#,
            [
                "troubles[0].to_s: not after from_s",
                "troubles[0].share: expected a number from 0 to 1",
                "troubles[0].formats[1]: expected one of banner, native, interstitial, app_open, "
                    + "rewarded, rewarded_interstitial",
                "troubles[1].from_s: expected whole seconds from 0 to 604800",
                "troubles[1].to_s: expected whole seconds from 0 to 604800",
                "troubles[1].kind: expected one of ad_crash, crash_loop, launch_crash, lull",
                "troubles[2].share: unknown field",
                "troubles[2].per_minute: expected a whole number from 1 to 60",
                "troubles[3].apps_share: expected a number from 0 to 1",
                "troubles[3].share: expected a number from 0 to 1",
                "troubles[4]: expected an object",
            ]
        ),
    ])
    func `every problem of a file is named`(text: String, problems: [String]) throws {
        let found = try #require(throws: ScenarioProblems.self) {
            try Scenario(json: Array(text.utf8))
        }
        #expect(found.problems == problems)
    }

    @Test(arguments: [1, 2, 3, 6, 100, 1_000], [0.0001, 0.01, 0.33, 0.5, 1])
    func `a share of apps is met as nearly as whole apps allow`(apps: Int, share: Double) {
        let trouble = Trouble(.lull(share: 0), appsShare: share, from: 0, to: 1)
        let affected = (0..<apps).count { trouble.affects(app: $0) }
        #expect(affected == max(1, Int((Double(apps) * share - 1e-9).rounded(.up))))
        #expect(trouble.affects(app: 0))
    }
}
