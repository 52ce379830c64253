// A day without the log, on the test's clock: what is told at each stage, and by whom it is asked.
import BrakeModel
import BrakeWire
import Glibc
import HTTPServer
import Runtime
import Testing

@testable import Serve

@Suite struct OutageTests {
    private static let second: Int64 = 1_000
    private static let hour: Int64 = 3_600_000

    /// What an app is told.
    private struct Told: Equatable {
        var state: String
        var cause: String
        var revision: Int64
        var since: Int64
        var age: Int64
        var isStale: Bool
        var validFor: Int64

        init(_ document: JSONValue) {
            state = document["state"]?.text ?? "?"
            cause = document["cause"]?.text ?? "?"
            revision = document["revision"]?.integer ?? -1
            since = document["since"]?.integer ?? -1
            age = document["age_ms"]?.integer ?? -1
            isStale = document["stale"] == .bool(true)
            validFor =
                (document["valid_until"]?.integer ?? 0) - (document["issued_at"]?.integer ?? 0)
        }

        init(
            _ state: String, _ cause: String, revision: Int64, since: Int64, age: Int64,
            stale: Bool
        ) {
            self.state = state
            self.cause = cause
            self.revision = revision
            self.since = since
            self.age = age
            isStale = stale
            validFor = 900_000 - age
        }
    }

    private static let apps: [(name: String, state: ThrottleState)] = [
        ("n", .normal), ("c", .caution), ("t", .throttle), ("h", .halt),
    ]

    /// What holds so long after the last epoch.
    private static func expected(_ state: ThrottleState, age: Int64) -> Told {
        let start = TestTime.start
        let isExpired = age > 900_000 && state == .normal
        return Told(
            isExpired ? "Caution" : state.name, isExpired ? "expired" : "rule", revision: 4,
            since: isExpired ? start + 900_000 : start, age: age, stale: age > 10_000)
    }

    private func check(_ world: EdgeWorld, age: Int64) throws {
        for (name, state) in Self.apps {
            let response = try world.get("/v1/apps/\(name)")
            #expect(response.status == 200, "\(name) after \(age) ms")
            let document = try #require(DocumentReader().read(response.bytes))
            #expect(Told(document) == Self.expected(state, age: age), "\(name) after \(age) ms")
            // A cache never keeps an answer longer than it is valid, and on errors not either.
            let cache = try #require(response.headers["Cache-Control"])
            let onError = try #require(cache.firstMatch(of: /stale-if-error=([0-9]+)/)?.1)
            #expect(try #require(Int64(onError)) <= max(1, (900_000 - age) / 1_000), "\(cache)")
            let caps = try world.document("/api/ad/freq-cap?app=\(name)")
            #expect(caps["capPerHour"]?.integer == (state >= .throttle ? 0 : 3))
        }
        #expect(try Told(world.document("/v1/apps/nobody")).cause == "unknown_app")
        #expect(try Told(world.document("/v1/apps/nobody")).state == "Caution")
        let fleet = try world.document("/v1/apps")
        #expect(fleet["age_ms"]?.integer == age)
        let states = (fleet["apps"]?.array ?? []).map { Told($0).state }
        #expect(states == ["Caution", "Halt", age > 900_000 ? "Caution" : "Normal", "Throttle"])
        #expect(try world.get("/readyz").status == 200)
        #expect(try world.document("/readyz")["age_ms"]?.integer == age)
    }

    @Test func `a day without the log: right in state, age, staleness and cause at each stage`()
        throws
    {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        for (name, state) in Self.apps { try world.throttle(name, state, revision: 4) }
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        log.mode.withLock { $0 = .away }
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        let stages: [Int64] = [
            0, Self.second, 9_999, 10_000, 10_001, 60_000, 899_999, 900_000, 900_001, Self.hour,
            6 * Self.hour, 12 * Self.hour, 24 * Self.hour,
        ]
        var now: Int64 = 0
        for stage in stages {
            world.time.pass(milliseconds: stage - now)
            now = stage
            try check(world, age: stage)
        }
        // What the evaluator decided meanwhile counts as soon as the log is back.
        try world.throttle("h", .throttle, revision: 5, epoch: 9)
        try world.epoch(9)
        log.mode.withLock { $0 = .well }
        try Wait.until { try world.state(of: "h") == "Throttle rule" }
        try Wait.until { try Told(world.document("/v1/apps/n")).age == 0 }
        #expect(try world.state(of: "n") == "Normal rule")
        #expect(try Told(world.document("/v1/apps/n")).isStale == false)
    }

    @Test func `a day that begins with a restart: nothing looser than the backup, nothing younger`()
        throws
    {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        log.mode.withLock { $0 = .away }
        world.start()
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        // Without a backup nothing is known, for as long as it takes.
        for _ in 0..<4 {
            let document = try world.document("/v1/apps/n")
            #expect(Told(document).state == "Caution")
            #expect(Told(document).cause == "not_ready")
            #expect(try world.get("/readyz").status == 503)
            world.time.pass(milliseconds: 6 * Self.hour)
        }
    }

    @Test func `however often apps ask, the log is asked by the follower alone`() throws {
        let world = EdgeWorld(log: TroubledLog.init)
        let log = try #require(world.edge.log as? TroubledLog)
        try world.throttle("shop", .halt, revision: 1)
        world.start()
        try world.waitUntilReady()
        log.mode.withLock { $0 = .away }
        try Wait.until { world.metric("adbrake_serve_log_faults_total") > 0 }
        for _ in 0..<100 { #expect(try world.get("/v1/apps/shop").status == 200) }
        #expect(log.askers.read { $0.count } == 1)
        #expect(!log.askers.read { $0.contains(pthread_self()) })
    }

    @Test func `tries to reach the log grow apart, up to a bound`() {
        var coolDown = CoolDown()
        #expect(
            (0..<8).map { _ in coolDown.next() } == [50, 100, 200, 400, 800, 1_600, 2_000, 2_000])
    }

    @Test func `an answer is given again for a moment, never past the one at which it changes`()
        throws
    {
        let world = EdgeWorld()
        try world.throttle("shop", .normal, revision: 1)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        let app = try #require(AppID("shop"))
        let settings = ServeSettings()
        let ages: [(age: Int64, reuse: Int64)] = [
            (0, 250), (9_750, 250), (9_900, 100), (10_000, 0), (10_001, 250), (899_900, 100),
            (900_000, 0), (900_001, 250), (86_400_000, 250),
        ]
        for (age, reuse) in ages {
            let served = ServedState(
                of: app, in: world.edge.table.image, now: TestTime.start + age, settings: settings)
            #expect(AppDocument(served, settings).reusableMilliseconds == reuse, "\(age) ms")
        }
    }
}
