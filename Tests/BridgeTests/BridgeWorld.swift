// A bridge between a log in memory and the double of Remote Config, on clocks that tests set.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Runtime
import Synchronization
import Testing

@testable import Bridge

final class BridgeWorld {
    static let start: Int64 = 1_800_000_000_000

    /// Milliseconds since the start.
    final class Time: Sendable {
        private let passed = Mutex<Int64>(0)
        var milliseconds: Int64 { passed.withLock { $0 } }
        func pass(_ more: Int64) { passed.withLock { $0 += more } }
    }

    let time = Time()
    let log: MemoryLog
    let double: RemoteConfigDouble
    let metrics = Metrics()
    var settings: BridgeSettings
    private(set) var bridge: RemoteConfigBridge
    private var epochs: Int64 = 0

    init(
        _ template: String, usual: String? = "shop", apps: [(String, String)] = []
    ) throws {
        double = try RemoteConfigDouble(template)
        let time = time
        log = MemoryLog(partitions: 2, clock: LogClock { Self.start + time.milliseconds })
        let account = try ServiceAccount(
            file: TestAccount.file(tokens: double.url + "/token"))
        settings = BridgeSettings(account: account, project: "test-project", api: double.url)
        settings.usual = usual.flatMap { AppID($0) }
        settings.apps = apps.compactMap { app, id in AppID(app).map { (app: $0, firebaseID: id) } }
        bridge = Self.makeBridge(log, settings, metrics, time)
    }

    deinit { double.close() }

    /// A bridge in a process of its own, later.
    func restart() { bridge = Self.makeBridge(log, settings, metrics, time) }

    private static func makeBridge(
        _ log: MemoryLog, _ settings: BridgeSettings, _ metrics: Metrics, _ time: Time
    ) -> RemoteConfigBridge {
        RemoteConfigBridge(
            log: log, settings: settings, logger: Logger(part: "bridge", to: SilentSink()),
            metrics: metrics,
            clocks: Clocks(
                wallMilliseconds: { start + time.milliseconds },
                monotonicNanoseconds: { time.milliseconds * 1_000_000 }))
    }

    /// The evaluator publishes a state, and its heartbeat.
    func decide(_ app: String, _ state: ThrottleState, revision: Int64) throws {
        let id = try #require(AppID(app))
        let home = Partitioner.partition(of: app.utf8, partitions: log.partitions)
        epochs += 1
        let record = ThrottleRecord(
            change: ThrottleChange(
                app: id, state: state, since: 0, revision: revision, policy: "default",
                cause: .rule, why: Why(clock: 0, rule: nil, windows: [])),
            partition: home, epoch: epochs)
        try log.append([
            OutgoingRecord(.throttle, partition: home, key: Array(app.utf8), value: record.encode())
        ])
        try beat()
    }

    func beat() throws {
        epochs += 1
        try log.append(
            (0..<log.partitions).map { place in
                let epoch = EpochRecord(
                    number: epochs, generation: 1, partition: place, clock: 0,
                    offsets: EpochRecord.Offsets(), policies: [], changes: 0, checksum: 0,
                    snapshots: [], throttleEnd: 0)
                return OutgoingRecord(.epoch, partition: place, key: nil, value: epoch.encode())
            })
    }

    /// The bridge takes what there is and does what is due, after so long.
    func step(after milliseconds: Int64 = 0) throws {
        time.pass(milliseconds)
        for _ in 0..<3 { try bridge.step(waitMilliseconds: 0) }
    }

    /// The value in the newest template: the parameter's default, or under a condition.
    func value(_ condition: String? = nil) throws -> String? {
        let template = try RemoteConfigTemplate(
            Array(double.newest.template.utf8), parameter: settings.parameter)
        let slot = condition.map { TemplateSlot.condition("AdBrake \($0)") } ?? .usual
        if case .text(let text) = template.content(of: slot) { return text }
        return nil
    }

    func metric(_ name: String) -> Int {
        let line = metrics.rendered().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Int($0.dropFirst(name.count + 1)) } ?? -1
    }
}
