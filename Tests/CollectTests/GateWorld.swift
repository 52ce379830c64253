// A collector over a log in memory, asked without a socket, on a clock that the test moves.
import BrakeModel
import BrakeWire
import Collect
import EventLog
import HTTPServer
import Runtime
import Synchronization
import Testing

/// Time that stands still until the test moves it.
final class ManualTime: Sendable {
    private let nanoseconds = Atomic<Int64>(1_000_000_000)

    func move(seconds: Double) {
        nanoseconds.wrappingAdd(Int64(seconds * 1e9), ordering: .sequentiallyConsistent)
    }

    var clocks: Clocks {
        Clocks(
            wallMilliseconds: { 1_700_000_000_000 },
            monotonicNanoseconds: { self.nanoseconds.load(ordering: .sequentiallyConsistent) })
    }
}

/// The lines that were logged.
final class LineSink: LogSink {
    let lines = Monitor<[LogLine]>([])

    func write(_ line: LogLine) { lines.withLock { $0.append(line) } }

    var text: String { lines.read { "\($0)" } }
}

/// A collector and what lies around it.
struct GateWorld {
    let log = MemoryLog(partitions: 4)
    let time = ManualTime()
    let metrics = Metrics()
    let lines = LineSink()
    let routes: [Route]

    var router: Router { Router(routes) }

    init(keys: String? = nil, _ change: (inout CollectSettings) -> Void = { _ in }) throws {
        var settings = CollectSettings()
        change(&settings)
        let read = try keys.map { text throws(CollectorKeys.Problem) in try CollectorKeys(text) }
        let collector = Collector(
            log: log, keys: { read }, settings: settings,
            logger: Logger(part: "collect", level: .trace, to: lines),
            metrics: CollectMetrics(metrics), clocks: time.clocks)
        routes = collector.routes
    }

    func post(
        _ path: String, _ body: [UInt8], _ headers: [(name: String, value: String)] = [],
        from address: String = "127.0.0.1"
    ) throws -> Response {
        let target = try #require(RequestTarget(path))
        let headers = Headers(headers)
        return router.respond(
            to: Request(.post, target, headers: headers, body: body, remoteAddress: address))
    }

    func upload(
        _ text: String, key: String? = nil, once: String? = nil, from address: String = "127.0.0.1"
    ) throws -> Response {
        var headers: [(name: String, value: String)] = []
        if let key { headers.append(("Authorization", "Bearer \(key)")) }
        if let once { headers.append(("Idempotency-Key", once)) }
        return try post("/v1/events", Array(text.utf8), headers, from: address)
    }

    /// The events of a topic, in order of partition and offset.
    func events(_ topic: Topic) throws -> [JSONValue] {
        var positions: [TopicPartition: Int64] = [:]
        for place in log.places(of: topic) { positions[place] = 0 }
        let reader = log.makeReader(from: positions)
        defer { reader.close() }
        let batch = LogBatch()
        var events: [JSONValue] = []
        var ended: Set<TopicPartition> = []
        while ended.count < positions.count {
            ended = try reader.poll(into: batch, waitMilliseconds: 0).ended
            for record in batch.records {
                let bytes = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                let value = try #require(DocumentReader().read(bytes))
                events += value.array ?? [value]
            }
        }
        return events
    }
}

extension Response {
    var text: String { String(decoding: bytes, as: UTF8.self) }
    var why: String? { reason.map { "\($0)" } }
}
