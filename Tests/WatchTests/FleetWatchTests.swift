// What a person is told: each change once, in words, with its reason.
import BrakeModel
import BrakeWire
import Testing

@testable import Watch

@Suite struct FleetWatchTests {
    private func documents(_ json: String) throws -> [AppDocument] {
        try #require(FleetDocument(DocumentReader().read(Array(json.utf8)))).apps
    }

    /// The edge's answer for apps in these states.
    private func fleet(_ apps: (String, ThrottleState, Int)...) throws -> [AppDocument] {
        let list = apps.map { app, state, since in
            #"{"app":"\#(app)","state":"\#(state.name)","cause":"initial","since":\#(since)}"#
        }
        return try documents(#"{"apps":[\#(list.joined(separator: ","))],"issued_at":1}"#)
    }

    @Test func `a change by a rule is told with the counts of the worst window`() throws {
        var watch = FleetWatch()
        _ = watch.see(try fleet(("a.b", .normal, 0)))
        let lines = watch.see(
            try documents(
                #"""
                {"apps":[{"app":"a.b","state":"Throttle","severity":2,"since":1764479001000,
                "revision":2,"cause":"rule","why":{"clock":1764479001000,"rule":"minute","windows":[
                {"window_s":60,"sessions":200,"crashes":15,"crashed_sessions":14,
                "crashing_sessions":12,"crashed_devices":13,"rate":0.93,"low":0.8864,"high":0.9579},
                {"window_s":600,"sessions":900,"crashes":15,"crashed_sessions":14,
                "crashing_sessions":12,"crashed_devices":13,"rate":0.9844,"low":null,"high":null}
                ]}}],"issued_at":1764479001500}
                """#))
        #expect(
            lines == [
                "05:03:21  a.b             Normal -> Throttle    rule minute: 14 of 200 sessions "
                    + "crashed in 60 s on 13 devices, crash-free 93.00 % (surely from 88.64 % to "
                    + "95.79 %)"
            ])
    }

    @Test func `a recovery is told with the counts of the best window`() throws {
        var watch = FleetWatch()
        let lines = watch.see(
            try documents(
                #"""
                {"apps":[{"app":"a","state":"Normal","since":0,"cause":"recovery","why":{"windows":[
                {"window_s":60,"sessions":100,"crashed_sessions":1,"rate":0.99},
                {"window_s":600,"sessions":900,"crashed_sessions":90,"rate":0.9}]}}]}
                """#))
        #expect(lines.count == 1)
        #expect(
            lines[0].hasSuffix("healthy: 1 of 100 sessions crashed in 60 s, crash-free 99.00 %"))
    }

    @Test func `what has not changed is not told again, and changes come by time`() throws {
        var watch = FleetWatch()
        #expect(watch.see(try fleet(("a", .caution, 0), ("b", .caution, 0))).count == 2)
        #expect(watch.see(try fleet(("a", .caution, 0), ("b", .caution, 0))) == [])
        let lines = watch.see(try fleet(("a", .normal, 9_000), ("b", .halt, 5_000)))
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("00:00:05  b "))
        #expect(lines[1].hasPrefix("00:00:09  a "))
    }

    @Test func `of a large calm fleet only what is not Normal is listed at first`() throws {
        let apps = (0..<100).map {
            #"{"app":"a\#($0)","state":"\#($0 == 7 ? "Halt" : "Normal")","cause":"rule"}"#
        }
        var watch = FleetWatch()
        let lines = watch.see(try documents(#"{"apps":[\#(apps.joined(separator: ","))]}"#))
        #expect(lines.count == 1)
        #expect(lines[0].contains("a7"))
        #expect(watch.summary() == "99 in Normal, 1 in Halt")
    }

    @Test func `goals are reached by what is seen, never before anything is`() throws {
        var watch = FleetWatch()
        for goal in WatchGoal.allCases { #expect(!watch.hasReached(goal)) }
        func reached(_ one: ThrottleState, _ other: ThrottleState) throws -> [WatchGoal] {
            _ = watch.see(try fleet(("a", one, 0), ("b", other, 0)))
            return WatchGoal.allCases.filter { watch.hasReached($0) }
        }
        #expect(try reached(.normal, .throttle) == [.brake])
        #expect(try reached(.halt, .normal) == [.brake])
        #expect(try reached(.caution, .normal) == [.release])
        #expect(try reached(.normal, .normal) == [.release, .normal])
    }

    @Test func `a page names the next one`() {
        let page = DocumentReader().read(Array(#"{"apps":[],"next":"b"}"#.utf8))
        #expect(FleetDocument(page)?.next == "b")
    }

    @Test func `an app that is gone is told anew when it comes back`() throws {
        var watch = FleetWatch()
        _ = watch.see(try fleet(("a", .normal, 0), ("b", .throttle, 0)))
        #expect(watch.see(try fleet(("a", .normal, 0))) == [])
        #expect(!watch.hasReached(.brake))
        #expect(watch.see(try fleet(("a", .normal, 0), ("b", .throttle, 0))).count == 1)
    }

    @Test func `documents that are not those of apps are passed over`() throws {
        #expect(try documents(#"{"apps":[1,{},{"app":"a","state":"Odd"}]}"#) == [])
        #expect(FleetDocument(DocumentReader().read(Array("[]".utf8))) == nil)
        #expect(FleetDocument(nil) == nil)
    }
}
