// A client in Python, in the environment that `ops/clients/setup.sh` has made.
import Foundation
import ProcessTestSupport
import Runtime
import Testing

/// One run of a client that obeys lines.
final class PythonClient: Sendable {
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path
    private static let python = repository + "/.build/clients/bin/python"

    /// Why there is none here; nil when there is.
    static let obstacle: String? =
        FileManager.default.isExecutableFile(atPath: python)
        ? nil : "no SDKs of others; ops/clients/setup.sh makes them"

    private let process: ChildProcess
    private let text = Monitor("")

    init(_ script: String, _ arguments: [String]) throws {
        process = try ChildProcess(
            [Self.python, Self.repository + "/ops/clients/" + script] + arguments,
            takesInput: true, errors: .output)
        process.follow { [text] bytes in
            text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }
    }

    /// All that it has printed.
    var said: String { text.read { $0 } }

    func say(_ line: String) { process.write("\(line)\n".utf8) }

    /// Waits until it has printed a text.
    func wait(for wanted: String) throws {
        let found = text.wait(milliseconds: Child.patienceMilliseconds) { text in
            text.contains(wanted) ? true : nil
        }
        try #require(found == true, "it never said \(wanted), but \(said)")
    }

    func waitForEnd() -> ChildProcess.Ending { process.wait() }

    func close() {
        process.signal(SIGKILL)
        process.wait()
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where the SDKs could not be installed.
    static var needsClients: Self {
        .enabled(PythonClient.obstacle.map { Comment(rawValue: $0) }) {
            PythonClient.obstacle == nil
        }
    }
}
