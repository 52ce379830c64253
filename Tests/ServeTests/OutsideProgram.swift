// Programs of others that tests run against an edge: whether they are there, and a run of one.
import Foundation
import Glibc
import HTTPServer
import ProcessTestSupport
import Runtime
import Serve
import Testing

enum OutsideProgram {
    /// This repository.
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path()

    /// The path of a program; nil when it is not installed.
    static func path(of name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program for at most so many seconds.
    static func run(
        _ words: [String], seconds: Int = 60
    ) throws -> (ending: ChildProcess.Ending, output: String) {
        let ran = try ChildProcess.run(["timeout", "-k", "5", String(seconds)] + words)
        return (ran.ending, String(decoding: ran.output, as: UTF8.self))
    }
}

/// A program that runs beside a test, for two minutes at most.
final class RunningProgram {
    private let process: ChildProcess
    private let log: URL

    /// What it prints goes to a file of the folder.
    init(_ words: [String], folder: URL) throws {
        log = folder.appendingPathComponent("program.log")
        process = try ChildProcess(
            ["timeout", "-k", "5", "120"] + words, output: .file(log.path()), errors: .output)
    }

    var printed: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Ends it, and waits for its end.
    func stop() {
        process.signal(SIGTERM)
        process.wait()
    }
}

extension EdgeWorld {
    /// Serves on a free port of loopback while the body runs.
    func listening<Result>(_ body: (HTTPListener) throws -> Result) throws -> Result {
        let listener = try listen()
        defer { listener.stop() }
        return try body(listener)
    }

    /// Serves on a free port of loopback; whoever calls stops it.
    func listen() throws -> HTTPListener {
        var settings = HTTPListener.Settings(address: ListenAddress(host: "127.0.0.1", port: 0))
        settings.answersVersion = edge.table.version
        let listener = HTTPListener(
            "edge", settings, router: router, log: Logger(part: "test", to: sink),
            metrics: metrics)
        try listener.start()
        return listener
    }
}
