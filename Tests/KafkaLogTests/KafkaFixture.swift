// One real broker for the whole run of the tests, when a Kafka is found; the tests that need it are
// left out and counted otherwise.
import EventLog
import Foundation
import Synchronization
import Testing

@testable import KafkaLog

/// The broker of this run. It is stopped by its own verb as soon as this process ends, however.
final class KafkaFixture: Sendable {
    /// Where a Kafka is: `KAFKA_HOME` (set to nothing, there is none), else beside the repository.
    static let home: String? = {
        let beside = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("../shared/kafka").standardized.path
        let place = ProcessInfo.processInfo.environment["KAFKA_HOME"] ?? beside
        let script = place + "/bin/kafka-local"
        return FileManager.default.isExecutableFile(atPath: script) ? place : nil
    }()

    /// Why no broker can be started here; nil when one can.
    static let obstacle: String? = {
        guard home != nil else { return "no Kafka found; set KAFKA_HOME" }
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let hasJava = folders.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: $0 + "/java")
        }
        return hasJava ? nil : "no Java found; Kafka needs 17 or later"
    }()

    static let shared = Result { try KafkaFixture() }

    let bootstrap: String
    let directory: String
    /// Its other end is the guardian's input: it closes when this process ends.
    private let lifeline: Int32

    private init() throws {
        guard let home = KafkaFixture.home else { throw Missing() }
        directory =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-kafka-\(UUID().uuidString)").path
        let script = home + "/bin/kafka-local"
        // Reads until this process is gone, then stops the broker; started first, so that no
        // broker is ever without it.
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw Failed(command: "pipe", output: "") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let cleaning = """
            trap '' INT TERM HUP; cat >/dev/null
            [ ! -e "$2/brokers" ] || "$1" stop "$2" >/dev/null 2>&1; rm -rf "$2"
            """
        _ = try KafkaFixture.spawn(
            "/bin/sh", ["-c", cleaning, "guardian", script, directory], input: ends[0],
            output: "/dev/null")
        close(ends[0])
        lifeline = ends[1]
        let port = try KafkaFixture.freePort()
        bootstrap = "127.0.0.1:\(port)"
        try KafkaFixture.run(
            script,
            [
                "start", directory, "--port", "\(port)",
                "--config", "group.min.session.timeout.ms=1000",
            ])
    }

    /// Freezes or thaws the broker, kills or restarts it.
    func broker(_ verb: String) throws {
        guard let home = KafkaFixture.home else { throw Missing() }
        try KafkaFixture.run(home + "/bin/kafka-local", [verb, directory, "1"])
    }

    /// Runs one of Kafka's own tools and returns what it printed.
    @discardableResult
    func tool(_ name: String, _ arguments: [String]) throws -> String {
        guard let home = KafkaFixture.home else { throw Missing() }
        return try KafkaFixture.run(
            home + "/bin/" + name, ["--bootstrap-server", bootstrap] + arguments)
    }

    /// Runs a command to its end and returns what it printed. Not by `Process`, whose wait would
    /// last as long as the broker that the command leaves behind.
    @discardableResult
    static func run(_ path: String, _ arguments: [String]) throws -> String {
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-\(UUID().uuidString).log").path
        defer { unsafe unlink(log) }
        let child = try spawn(path, arguments, input: nil, output: log)
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        guard status == 0 else { throw Failed(command: path, output: text) }
        return text
    }

    private static func spawn(
        _ path: String, _ arguments: [String], input: Int32?, output: String
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_addopen(
            &actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // A group of its own: what interrupts the tests shall not kill who cleans up after them.
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        let words = unsafe ([path] + arguments).map { unsafe strdup($0) }
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        let result = unsafe posix_spawn(
            &child, path, &actions, &attributes, words + [nil], environ)
        guard result == 0 else { throw Failed(command: path, output: "error \(result)") }
        return child
    }

    private static func freePort() throws -> Int {
        // Broker and controller take two neighbouring ports below those that the system gives out
        // by itself, so that nobody gets them in between.
        for _ in 0..<200 {
            let port = Int.random(in: 20_000..<32_000)
            if isFree(port) && isFree(port + 1) { return port }
        }
        throw Failed(command: "find a free port", output: "")
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    struct Missing: Error {}

    struct Failed: Error {
        let command: String
        let output: String
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where no Kafka can be started, and counts it.
    static var needsKafka: Self {
        .enabled(KafkaFixture.obstacle.map { Comment(rawValue: $0) }) {
            if KafkaFixture.obstacle == nil { return true }
            LeftOut.count.add(1, ordering: .relaxed)
            LeftOut.announceAtExit
            return false
        }
    }
}

/// How many tests were left out; said in the last line.
enum LeftOut {
    static let count = Atomic<Int>(0)

    static let announceAtExit: Void = {
        atexit {
            let count = LeftOut.count.load(ordering: .relaxed)
            print("KafkaLogTests: \(count) tests left out: \(KafkaFixture.obstacle ?? "")")
        }
    }()
}

/// All tests of the log on Kafka, one after the other: they share a broker and two processors.
@Suite("Kafka", .serialized)
struct KafkaTests {}

/// A name that no other test of any run uses.
func freshPrefix(_ name: String = #function) -> String {
    "t\(UInt32.random(in: 0...UInt32.max))-"
}

/// Runs the body with a log on the real broker, whose topics are its own.
func withKafka(
    partitions: Int = 4, _ change: (inout KafkaSettings) -> Void = { _ in },
    _ body: (KafkaLog, KafkaSettings) throws -> Void
) throws {
    var settings = KafkaSettings(bootstrap: try KafkaFixture.shared.get().bootstrap)
    settings.prefix = freshPrefix()
    settings.instance = "test"
    change(&settings)
    try KafkaTopics(settings, partitions: partitions, replicas: 1).create()
    let log = try KafkaLog(settings)
    defer { log.close() }
    try body(log, settings)
}

/// A condition that did not come true in time.
struct TimedOut: Error {
    let what: String
}

/// Repeats the body until it returns a value; fails after a time that a right program never needs.
func eventually<Value>(
    _ what: String, seconds: Int = 60, _ body: () throws -> Value?
) throws -> Value {
    let deadline = LogClock.steady.now() + Int64(seconds) * 1_000
    while LogClock.steady.now() < deadline {
        if let value = try body() { return value }
        usleep(5_000)
    }
    throw TimedOut(what: what)
}

extension OutgoingRecord {
    init(_ topic: Topic, _ partition: Int, key: String? = "app", _ value: String?) {
        self.init(
            topic, partition: partition, key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) })
    }
}

extension LogBatch {
    var values: [String?] {
        records.map { record in
            unsafe record.value.map { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension LogReader {
    /// Polls until every partition has ended, and returns the values.
    func readToEnd() throws -> [String?] {
        let batch = LogBatch()
        var values: [String?] = []
        return try eventually("the end of \(positions.keys.sorted())") {
            let outcome = try poll(into: batch, waitMilliseconds: 20)
            values += batch.values
            return outcome.ended.count == positions.count ? values : nil
        }
    }
}

extension EventLog {
    func readAll(_ topic: Topic, _ partition: Int = 0) throws -> [String?] {
        let place = TopicPartition(topic, partition)
        let reader = try makeReader(from: [place: bounds(of: place).lowerBound])
        defer { reader.close() }
        return try reader.readToEnd()
    }
}

extension LogWorker {
    /// Waits for the next change of the assignment.
    func nextChange(seconds: Int = 60) throws -> AssignmentChange {
        try eventually("a change of the assignment", seconds: seconds) {
            do throws(LogFault) {
                return try pollAssignment(waitMilliseconds: 200)
            } catch {
                guard error.remedy == .retry else { throw error }
                print("given back: \(error)")
                return nil
            }
        }
    }

    /// Polls until so many records have come.
    func read(_ count: Int) throws -> [String?] {
        let batch = LogBatch()
        var values: [String?] = []
        return try eventually("\(count) records, not just \(values.count)") {
            _ = try poll(into: batch, waitMilliseconds: 50)
            values += batch.values
            return values.count >= count ? values : nil
        }
    }
}

/// The fault that the body throws.
func fault(_ body: () throws -> Void) throws -> LogFault {
    do {
        try body()
    } catch let fault as LogFault {
        return fault
    }
    throw NoFault()
}

struct NoFault: Error {}
