// One real broker for the whole run of the tests, when a Kafka is found; the tests that need it are
// left out and counted otherwise.
import Foundation
import ProcessTestSupport

/// The broker of this run. It is stopped by its own verb as soon as this process ends, however;
/// `ADBRAKE_KEEP_KAFKA` in the environment names a folder that gets what it has stored.
///
/// It has two doors: the one that `bootstrap` names, and one that it advertises at a port where
/// nobody listens unless a test does: whoever comes by there comes through that test's hands.
package final class KafkaFixture: Sendable {
    private static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("ops/kafka").standardized.path
    private static let script = scripts + "/broker.sh"

    /// Why no broker can be started here; nil when one can.
    package static let obstacle: String? = {
        do {
            try run(scripts + "/find.sh", [])
        } catch {
            return "no Kafka found; set KAFKA_HOME"
        }
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let hasJava = folders.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: $0 + "/java")
        }
        return hasJava ? nil : "no Java found; Kafka needs 17 or later"
    }()

    package static let shared = Result { try KafkaFixture() }

    /// Who may use the broker: most tests beside others, those that disturb it alone.
    package static let access = BrokerAccess()

    package let bootstrap: String
    package let directory: String
    /// Where the broker's other door is, and the port at which it says that this is.
    package let doorPort: Int
    package let advertisedPort: Int
    /// Its input ends when this process ends.
    private let guardian: ChildProcess

    private init() throws {
        directory =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-kafka-\(UUID().uuidString)").path
        // Reads until this process is gone, then stops the broker; started first, so that no
        // broker is ever without it.
        let cleaning = """
            trap '' INT TERM HUP; cat >/dev/null
            [ ! -e "$2/pid" ] || "$1" stop "$2" >/dev/null 2>&1
            [ -z "$ADBRAKE_KEEP_KAFKA" ] || cp -r "$2" "$ADBRAKE_KEEP_KAFKA"; rm -rf "$2"
            """
        guardian = try ChildProcess(
            ["/bin/sh", "-c", cleaning, "guardian", KafkaFixture.script, directory],
            takesInput: true, output: .nowhere, errors: .nowhere, hasOwnGroup: true)
        let port = try KafkaFixture.freePorts(4)
        bootstrap = "127.0.0.1:\(port)"
        (doorPort, advertisedPort) = (port + 2, port + 3)
        let doors = "PLAINTEXT://127.0.0.1:\(port)"
        let settings = [
            "listeners=\(doors),CONTROLLER://127.0.0.1:\(port + 1),DOOR://127.0.0.1:\(doorPort)",
            "advertised.listeners=\(doors),DOOR://127.0.0.1:\(advertisedPort)",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
                + "DOOR:PLAINTEXT",
            "inter.broker.listener.name=PLAINTEXT",
            "group.min.session.timeout.ms=1000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000",
            "log.cleaner.backoff.ms=200",
        ]
        try KafkaFixture.run(
            KafkaFixture.script,
            ["start", directory, "--port", "\(port)"] + settings.flatMap { ["--config", $0] })
    }

    /// Freezes or thaws the broker, kills or restarts it; only in a test that has it alone.
    package func broker(_ verb: String) throws {
        try KafkaFixture.run(KafkaFixture.script, [verb, directory])
    }

    /// Runs a command to its end and returns what it printed: to a file, as the broker that the
    /// command leaves behind goes on printing.
    @discardableResult
    private static func run(_ path: String, _ arguments: [String]) throws -> String {
        let log = FileManager.default.temporaryDirectory
            .appendingPathComponent("adbrake-\(UUID().uuidString).log").path
        defer { unsafe unlink(log) }
        // A group of its own: what interrupts the tests shall not kill who cleans up after them.
        let child = try ChildProcess(
            [path] + arguments, output: .file(log), errors: .output, hasOwnGroup: true)
        let ending = child.wait()
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        guard ending == .exited(0) else { throw Failed(command: path, output: text) }
        return text
    }

    /// The first of some neighbouring ports below those that the system gives out by itself, so
    /// that nobody gets them in between.
    private static func freePorts(_ count: Int) throws -> Int {
        for _ in 0..<200 {
            let port = Int.random(in: 20_000..<32_000)
            if (port..<port + count).allSatisfy(isFree) { return port }
        }
        throw Failed(command: "find free ports", output: "")
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

    package struct Failed: Error {
        package let command: String
        package let output: String
    }
}
