// A client in Python, in the environment that `ops/clients/setup.sh` has made.
import Foundation
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

    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private let text = Monitor("")

    init(_ script: String, _ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: Self.python)
        process.arguments = [Self.repository + "/ops/clients/" + script] + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        let text = text
        output.fileHandleForReading.readabilityHandler = { handle in
            let bytes = handle.availableData
            text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }
        try process.run()
    }

    /// All that it has printed.
    var said: String { text.read { $0 } }

    func say(_ line: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Waits until it has printed a text.
    func wait(for wanted: String) throws {
        let found = text.wait(milliseconds: Child.patienceMilliseconds) { text in
            text.contains(wanted) ? true : nil
        }
        try #require(found == true, "it never said \(wanted), but \(said)")
    }

    /// Its exit status.
    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    func close() {
        output.fileHandleForReading.readabilityHandler = nil
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
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
