// What the README shows is what compiles and runs.
import AdBrakeProducer
import EventLog
import Foundation
import SQLiteLog
import Testing

@Suite struct ReadmeTests {
    @Test func `the README's example is the one that is compiled here`() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let example = try String(
            contentsOf: here.appending(path: "ReadmeExample.swift"), encoding: .utf8)
        let code = example.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        let block = code.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.contains(block))
    }

    @Test func `the README's example reports a session and a crash`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "adbrake-readme-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "log.db").path()
        try report(to: .sqlite(path: path))
        let log = try SQLiteLog(path: path)
        defer { log.close() }
        #expect(try log.stored(.session).count == 1)
        #expect(try log.stored(.crash).first?.value.contains(#""kind":"signal""#) == true)
    }
}
