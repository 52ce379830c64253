// A log of its own on the cluster, with everything that runs over it: a collector, clients and a
// fleet that load it, and evaluators by name.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import KafkaLog
import ProcessTestSupport
import Runtime
import Testing

/// Topics under a prefix, and the processes of the program that use them. One thread owns it.
final class ChaosArena {
    static let partitions = 4
    static let lanes = 2
    /// Between two uploads of a client: what they send is read where nothing is optimised.
    private static let pauseMilliseconds = 200
    /// Events a second of the fleet's, for the same reason.
    private static let fleetRate = 300
    /// Beyond what any fault of a single broker or worker may take, sessions and all.
    static let recoveryMilliseconds: Int64 = 120_000

    let cluster: ChaosCluster
    let workplace: Workplace
    let log: KafkaLog
    let ledger: ChaosLedger
    let settings: KafkaSettings
    let policy: String
    private(set) var workers: [String: Child] = [:]
    /// Those that are over, with what they have said.
    private var past: [Child] = []
    private var collector: Child?
    private var fleet: Child?
    /// What the fleet was told to be taken; known once its load has ended.
    private var fleetAccepted = 0
    private var clients: Clients?
    private var firstClient = 0
    private let seed: UInt64
    private let snapshotEvery: String

    init(
        _ cluster: ChaosCluster, _ workplace: Workplace, name: String, seed: UInt64,
        snapshotEvery: String
    ) throws {
        self.snapshotEvery = snapshotEvery
        self.cluster = cluster
        self.workplace = workplace
        self.seed = seed
        var settings = KafkaSettings(bootstrap: cluster.bootstrap)
        settings.prefix = "\(name)-"
        settings.instance = "observer"
        self.settings = settings
        try KafkaTopics(settings, partitions: Self.partitions, replicas: 3).create()
        log = try KafkaLog(settings)
        ledger = ChaosLedger(log)
        policy = try workplace.write("quick.json", QuickPolicy.text)
    }

    var options: [String] { ["--log", cluster.place, "--prefix", settings.prefix] }
    private var truth: ChaosTruth {
        ChaosTruth(ledger: ledger, workplace: workplace, options: options, policy: policy)
    }

    // MARK: Evaluators

    /// Starts an evaluator; one that had the name before is no longer watched.
    @discardableResult
    func start(_ name: String, relayed: Bool = false) throws -> Child {
        let place = relayed ? cluster.relayedPlace : cluster.place
        let child = try Child(
            [
                "evaluate", "--listen", "127.0.0.1:0", "--log", place, "--prefix",
                settings.prefix, "--instance", name, "--lanes", "\(Self.lanes)", "--policy",
                policy, "--snapshot-every", snapshotEvery, "--idle-lag", "100ms",
            ])
        if let before = workers[name] { past.append(before) }
        workers[name] = child
        return child
    }

    func worker(_ name: String) throws -> Child { try #require(workers[name]) }

    /// The librdkafka that an evaluator runs with: the one asked for comes before the system's.
    func library(of name: String) throws -> String {
        let child = try worker(name)
        _ = try child.address()
        // Not by its size, which is 0.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(child.pid)/maps"))
        let maps = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
        let loaded = maps.split(separator: "\n").compactMap { $0.split(separator: " ").last }
            .filter { $0.contains("librdkafka") }.map(String.init)
        let wanted = ProcessInfo.processInfo.environment["ADBRAKE_RDKAFKA"] ?? ""
        guard !wanted.isEmpty else { return try #require(loaded.first) }
        let path = URL(fileURLWithPath: wanted).resolvingSymlinksInPath().path
        let used = loaded.first { $0 == path }
        return try #require(used, "\(wanted) is used, not \(loaded)")
    }

    /// Kills an evaluator, and waits for its end.
    func kill(_ name: String) throws {
        let child = try worker(name)
        child.signal(SIGKILL)
        try #require(try child.waitForEnd() == .killed(SIGKILL), "\(child.complaints)")
        past.append(child)
        workers[name] = nil
    }

    /// Asks an evaluator to stop, and waits until it has.
    func stop(_ name: String) throws {
        let child = try release(name)
        child.signal(SIGTERM)
        try #require(try child.waitForEnd() == .exited(0), "\(child.complaints)")
    }

    /// Waits until an evaluator stops by itself, with a status that is not 0; returns the reason.
    func reason(ofStopping name: String, with words: [String]) throws -> String {
        let child = try release(name)
        let ending = try child.waitForEnd(milliseconds: Int(Self.recoveryMilliseconds))
        guard case .exited(let status) = ending, status != 0 else {
            throw ChaosFailure("evaluator \(name) ended as \(ending): \(Self.last(of: child))")
        }
        let reader = DocumentReader()
        let reasons = child.complaints.split(separator: "\n").compactMap { line in
            reader.read(Array(line.utf8))?["reason"]?.text
        }
        let reason = reasons.last { reason in words.allSatisfy { reason.contains($0) } }
        guard let reason else {
            throw ChaosFailure("no reason with \(words): \(Self.last(of: child))")
        }
        return "stopped: \(reason)"
    }

    /// Takes an evaluator off the watch, without ending it.
    func release(_ name: String) throws -> Child {
        let child = try worker(name)
        past.append(child)
        workers[name] = nil
        return child
    }

    // MARK: Load

    /// Clients whose uploads can be found again, and a fleet beside them if asked for.
    func startLoad(withFleet: Bool = true) throws {
        if collector == nil { try startCollector() }
        clients = Clients(
            count: 2, seed: seed, first: firstClient, pauseMilliseconds: Self.pauseMilliseconds)
        firstClient += 2
        clients?.send(to: try collectorAddress())
        guard withFleet else { return }
        let scenario = try workplace.write("trouble.json", Self.trouble)
        fleet = try Child([
            "traffic", "--collector", try collectorAddress(), "--scenario", scenario, "--apps",
            "40", "--rate", "\(Self.fleetRate)", "--seed", "\(seed % 1_000_000)", "--quiet",
            "--report", fleetReport,
        ])
    }

    func startCollector() throws {
        let port = collector == nil ? "0" : try collectorAddress().components(separatedBy: ":")[2]
        let child = try Child(["collect", "--listen", "127.0.0.1:\(port)"] + options)
        if let collector { past.append(collector) }
        collector = child
        _ = try child.address()
    }

    func killCollector() throws {
        let child = try #require(collector)
        child.signal(SIGKILL)
        try child.waitForEnd()
    }

    private func collectorAddress() throws -> String { try #require(collector).address() }

    /// Phases of trouble all through the run.
    private static let trouble: String = {
        let phases = (0..<30).map { phase in
            #"{"kind":"ad_crash","vendor":"adnet","apps_share":0.4,"share":0.5,"#
                + #""from_s":\#(20 + 40 * phase),"to_s":\#(35 + 40 * phase),"#
                + #""formats":["interstitial","app_open"]}"#
        }
        return #"{"name":"chaos","about":"again and again","crash_share":0.002,"troubles":["#
            + phases.joined(separator: ",") + "]}"
    }()

    /// Ends the load, and waits until all of it is counted.
    func finishLoad() throws {
        if let fleet { fleetAccepted = try stop(fleet) }
        fleet = nil
        _ = clients?.finish()
        try recover()
    }

    private var fleetReport: String { "\(workplace.folder)/traffic.json" }

    /// Ends the fleet; returns how many of its events the collector has taken.
    private func stop(_ fleet: Child) throws -> Int {
        fleet.signal(SIGTERM)
        let ending = try fleet.waitForEnd()
        let report = FileManager.default.contents(atPath: fleetReport).map { [UInt8]($0) }
        guard let accepted = DocumentReader().read(report ?? [])?["accepted"]?.integer else {
            throw ChaosFailure("the fleet ended as \(ending): \(Self.last(of: fleet))")
        }
        return Int(accepted)
    }

    // MARK: What has come of it

    /// Waits until everything is counted that is in the log now; returns how long that took, ms.
    @discardableResult
    func recover() throws -> Int64 {
        let begun = SystemClock.monotonicMilliseconds()
        let ends = try inputEnds()
        let pause = StopSignal()
        while true {
            try ledger.catchUpEpochs()
            let counted = ledger.counted
            if ends.allSatisfy({ counted[$0.key, default: 0] >= $0.value }) {
                return SystemClock.monotonicMilliseconds() - begun
            }
            let waited = SystemClock.monotonicMilliseconds() - begun
            guard waited < Self.recoveryMilliseconds else {
                let behind = ends.filter { counted[$0.key, default: 0] < $0.value }.keys.sorted()
                throw ChaosFailure(
                    "not counted after \(waited) ms: \(behind.map(\.description))\n\(words())")
            }
            pause.wait(milliseconds: 200)
        }
    }

    /// Where the inputs end; a broker that is away is asked again.
    func inputEnds() throws -> [TopicPartition: Int64] {
        var ends: [TopicPartition: Int64] = [:]
        for place in Topic.inputs.flatMap({ log.places(of: $0) }) {
            ends[place] = try eventually("\(place) tells its end") { () -> Int64? in
                do throws(LogFault) {
                    return try log.bounds(of: place).upperBound
                } catch {
                    print("chaos: \(error)")
                    return nil
                }
            }
        }
        return ends
    }

    /// Holds the log against undisturbed runs over the same input.
    func check() throws -> ChaosFindings {
        try truth.check(clients?.tally.read { $0 }, fleetAccepted: fleetAccepted)
    }

    /// Those that should run but have ended, with the last that they have said; evaluators are
    /// started again.
    func restartEnded() throws -> [String] {
        var ended: [String] = []
        if let fleet, !fleet.isRunning {
            ended.append("the fleet has ended: \(Self.last(of: fleet))")
            self.fleet = nil
        }
        for (name, child) in workers where !child.isRunning {
            try start(name, relayed: name == "b")
            ended.append("evaluator \(name) has ended: \(Self.last(of: child))")
        }
        return ended
    }

    /// The last that evaluators have said.
    func words() -> String {
        workers.sorted { $0.key < $1.key }.map { "\($0.key): \(Self.last(of: $0.value))" }
            .joined(separator: "\n")
    }

    static func last(of child: Child) -> String {
        child.complaints.split(separator: "\n").suffix(12).joined(separator: "\n")
    }

    func close() {
        _ = clients?.finish()
        for child in Array(workers.values) + past + [collector, fleet].compactMap({ $0 }) {
            child.close()
        }
        for (index, child) in (past + workers.values).enumerated() {
            let name = "\(cluster.folder)/\(settings.prefix)evaluate-\(index).log"
            try? child.complaints.write(toFile: name, atomically: false, encoding: .utf8)
        }
        log.close()
    }
}

/// Something that did not come true.
struct ChaosFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
