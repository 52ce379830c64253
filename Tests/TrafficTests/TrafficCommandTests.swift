// The subcommand: what is refused before anything is sent, and the report it leaves.
import BrakeWire
import Foundation
import Runtime
import Testing

@testable import Traffic

@Suite struct TrafficCommandTests {
    private func parse(_ words: String...) throws -> ParsedCommand {
        let syntax = CommandLineSyntax(
            program: "adbrake", version: "0", summary: "", commands: [TrafficCommand.syntax])
        guard case .run(let command) = syntax.parse(["traffic"] + words) else {
            throw NotACommand()
        }
        return command
    }

    /// Of a file that nobody else has.
    private func newPath() -> String {
        FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".json").path
    }

    private struct NotACommand: Error {}

    @Test(arguments: [
        (["--scenario", "calmer"], "there is no scenario `calmer`"),
        (["--scenario", "/nonexistent.json"], "cannot read /nonexistent.json"),
        (["--collector", "127.0.0.1:8080"], "--collector is `127.0.0.1:8080`"),
        (["--edge", "here"], "--edge is `here`"),
        (["--seed", "-1"], "--seed is `-1`"),
    ])
    func `what cannot be meant is refused with the word and a hint`(
        words: [String], problem: String
    ) throws {
        let syntax = CommandLineSyntax(
            program: "adbrake", version: "0", summary: "", commands: [TrafficCommand.syntax])
        guard case .run(let command) = syntax.parse(["traffic"] + words) else {
            Issue.record("\(words) is understood")
            return
        }
        let error = try #require(throws: (any Error).self) {
            try TrafficCommand.run(command, stop: StopSignal())
        }
        #expect("\(error)".contains(problem))
    }

    @Test func `a scenario file with problems is refused with all of them`() throws {
        let path = newPath()
        try TextFile.write(Array(#"{"name":"n","abot":"a"}"#.utf8), to: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let error = try #require(throws: UsageError.self) {
            try TrafficCommand.run(try parse("--scenario", path), stop: StopSignal())
        }
        #expect(error.problem.contains("abot: unknown field"))
        #expect(error.problem.contains("about: expected a text"))
    }

    @Test func `the report is JSON with the totals and a line for each app`() throws {
        let service = try ServiceDouble()
        defer { service.stop() }
        let path = newPath()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let status = try TrafficCommand.run(
            try parse(
                "--collector", service.url, "--rate", "200", "--speed", "20", "--apps", "2",
                "--duration", "1s", "--seed", "5", "--report", path, "--quiet"),
            stop: StopSignal())
        #expect(status == 0)
        let bytes = try TextFile.read(path, bytesMax: 1 << 20)
        let report = try #require(DocumentReader().read(bytes))
        #expect(report["scenario"]?.text == "calm")
        #expect(report["seed"]?.integer == 5)
        #expect(report["lost"]?.integer == 0)
        #expect(report["sent"]?.integer == report["accepted"]?.integer)
        let apps = try #require(report["apps"]?.array)
        #expect(apps.map { $0["app"]?.text } == ["puzzle-garden", "word-rush"])
        let events = apps.compactMap { $0["events"]?.integer }.reduce(0, +)
        #expect(events == report["sent"]?.integer)
    }
}
