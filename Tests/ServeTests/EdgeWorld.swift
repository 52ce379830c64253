// An edge over a log in memory, with a clock that tests set, and records as the evaluator writes
// them.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Runtime
import Serve
import Synchronization
import Testing

/// Collects log lines.
final class LineSink: LogSink {
    private let lines = Mutex<[LogLine]>([])

    func write(_ line: LogLine) { lines.withLock { $0.append(line) } }

    var messages: [String] { lines.withLock { $0.map(\.message) } }
}

/// The time of the test, ms since 1970.
final class TestTime: Sendable {
    static let start: Int64 = 1_800_000_000_000
    private let milliseconds = Mutex(TestTime.start)

    var now: Int64 { milliseconds.withLock { $0 } }

    func pass(milliseconds more: Int64) { milliseconds.withLock { $0 += more } }

    var clock: LogClock { LogClock { self.now } }
}

/// An edge with its service on a thread of its own.
final class EdgeWorld: Sendable {
    let time = TestTime()
    let memory: MemoryLog
    let edge: Edge
    let router: Router
    let metrics = Metrics()
    let sink = LineSink()
    let stop = StopSignal()
    private let ending = Monitor<String?>(nil)
    private let thread = Mutex<WorkerThread?>(nil)

    init(
        partitions: Int = 4, settings: ServeSettings = ServeSettings(),
        log wrap: (MemoryLog) -> any EventLog = { $0 }
    ) {
        memory = MemoryLog(partitions: partitions, clock: time.clock)
        edge = Edge(
            log: wrap(memory), settings: settings, logger: Logger(part: "serve", to: sink),
            metrics: metrics, clock: time.clock)
        router = Router(edge.routes)
    }

    /// A second edge on the same log.
    func replica(settings: ServeSettings = ServeSettings()) -> EdgeWorld {
        EdgeWorld(sharing: self, settings)
    }

    private init(sharing world: EdgeWorld, _ settings: ServeSettings) {
        memory = world.memory
        edge = Edge(
            log: memory, settings: settings, logger: Logger(part: "serve", to: sink),
            metrics: metrics, clock: world.time.clock)
        router = Router(edge.routes)
    }

    deinit {
        stop.request(reason: "the test is over")
        thread.withLock { $0?.join() }
    }

    func start() {
        thread.withLock { thread in
            thread = WorkerThread(name: "serve") { [edge, stop, ending] in
                do {
                    try edge.run(stop: stop)
                    ending.withLock { $0 = "" }
                } catch {
                    ending.withLock { $0 = "\(error)" }
                }
            }
        }
    }

    /// What the service threw; empty when it returned.
    func waitForEnding() -> String? {
        ending.wait(milliseconds: Wait.milliseconds) { $0 }
    }

    // MARK: What the evaluator writes

    func partition(of app: String) -> Int {
        Partitioner.partition(of: app.utf8, partitions: memory.partitions)
    }

    func throttle(
        _ app: String, _ state: ThrottleState, revision: Int64, epoch: Int64 = 1
    ) throws {
        let record = throttleRecord(app, state, revision: revision, epoch: epoch)
        try append(.throttle, app: app, record.encode())
    }

    func throttleRecord(
        _ app: String, _ state: ThrottleState, revision: Int64, epoch: Int64 = 1
    ) -> ThrottleRecord {
        var window = WindowCounts(windowSeconds: 600)
        window.sessions = 240
        window.crashes = 12
        window.crashedSessions = 12
        window.rate = 0.95
        let why = Why(
            clock: time.now, rule: "halt-60",
            windows: [WindowCounts(windowSeconds: 60), window, WindowCounts(windowSeconds: 3_600)])
        let change = ThrottleChange(
            app: AppID(app)!,  // Tests name apps that are valid.
            state: state, since: time.now, revision: revision, policy: "default", cause: .rule,
            why: why)
        return ThrottleRecord(change: change, partition: partition(of: app), epoch: epoch)
    }

    func tombstone(_ app: String) throws { try append(.throttle, app: app, nil) }

    func append(_ topic: Topic, app: String, _ value: [UInt8]?) throws {
        try memory.append([
            OutgoingRecord(
                topic, partition: partition(of: app), key: Array(app.utf8), value: value)
        ])
    }

    /// An epoch in every partition, or in one.
    func epoch(_ number: Int64, generation: Int64 = 1, in partition: Int? = nil) throws {
        let places = partition.map { [$0] } ?? Array(0..<memory.partitions)
        try memory.append(
            places.map { place in
                let epoch = EpochRecord(
                    number: number, generation: generation, partition: place, clock: time.now,
                    offsets: EpochRecord.Offsets(), policies: [], changes: 0, checksum: 0,
                    snapshots: [], throttleEnd: 0)
                return OutgoingRecord(
                    .epoch, partition: place, key: nil, value: epoch.encode())
            })
    }

    func notice(_ text: String, app: String? = nil) throws {
        let notice = Notice(
            kind: .silenceBegan, app: app.flatMap { AppID($0) }, clock: time.now, text: text)
        try memory.append([
            OutgoingRecord(.notice, partition: 0, key: nil, value: notice.encode())
        ])
    }

    // MARK: What clients ask

    func get(_ target: String, _ headers: [(name: String, value: String)] = []) throws -> Response {
        let target = try #require(RequestTarget(target))
        return router.respond(to: Request(.get, target, headers: Headers(headers)))
    }

    func post(
        _ target: String, _ body: String, _ headers: [(name: String, value: String)] = []
    ) throws -> Response {
        let target = try #require(RequestTarget(target))
        return router.respond(
            to: Request(.post, target, headers: Headers(headers), body: Array(body.utf8)))
    }

    /// The answer as a document.
    func document(
        _ target: String, _ headers: [(name: String, value: String)] = []
    ) throws -> JSONValue {
        let response = try get(target, headers)
        return try #require(DocumentReader().read(response.bytes))
    }

    func state(of app: String) throws -> String {
        let document = try document("/v1/apps/\(app)")
        return "\(document["state"]?.text ?? "?") \(document["cause"]?.text ?? "?")"
    }

    /// The value of a metric's line, 0 when it is not there.
    func metric(_ series: String) -> Int {
        let lines = metrics.rendered().split(separator: "\n")
        let line = lines.first { $0.hasPrefix(series + " ") }
        return line.flatMap { Int($0.dropFirst(series.count + 1)) } ?? 0
    }

    func waitUntilReady() throws {
        try Wait.until { try get("/readyz").status == 200 }
    }
}

/// Waits on conditions, with a deadline that only failures reach.
enum Wait {
    static let milliseconds = 20_000
    private static let pauseMilliseconds = 2

    static func until(
        _ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let end = SystemClock.monotonicMilliseconds() + Int64(milliseconds)
        let pause = StopSignal()
        while try !condition() {
            guard SystemClock.monotonicMilliseconds() < end else {
                Issue.record("the condition did not come true", sourceLocation: sourceLocation)
                return
            }
            pause.wait(milliseconds: pauseMilliseconds)
        }
    }
}
