// Each rule fires on a snippet made to break it, and stays quiet on one that only looks like it: a
// rule that has gone blind is found here.
import Testing

@Suite struct CanaryTests {
    private func banned(_ path: String, _ text: String) throws -> [Finding] {
        let file = TextFile(path: path, text: text)
        return try BannedCalls.all.flatMap { try $0.findings(in: file) }
    }

    @Test(arguments: [
        ("Sources/Serve/A.swift", "fatalError(\"x\")"),
        ("Sources/Serve/A.swift", "let a = try! read()"),
        ("Sources/Serve/A.swift", "let a = b as! Int"),
        ("Sources/Serve/A.swift", "// TODO: later"),
        ("Sources/Serve/A.swift", "/* FIXME */"),
        ("Sources/Serve/A.swift", "let text = \"not implemented\""),
        ("ops/demo.sh", "# For now it is enough."),
        ("README.md", "Look in /work/shared for more."),
        ("Sources/Serve/A.swift", "print(1)"),
        ("Tests/ServeTests/A.swift", "let git = Process()"),
        ("Sources/Serve/A.swift", "Task { await a() }"),
        ("Sources/Serve/A.swift", "Task.detached { }"),
        ("Sources/Serve/A.swift", "let now = Date()"),
        ("Sources/Serve/A.swift", "nonisolated(unsafe) var a = 0"),
        ("Sources/Serve/A.swift", "DispatchQueue.main.async {}"),
        ("Sources/Serve/A.swift", "final class EdgeManager {"),
        ("Tests/ServeTests/A.swift", "usleep(1000)"),
        ("Tests/ServeTests/A.swift", "try await Task.sleep(for: .seconds(1))"),
        ("Tests/ServeTests/A.swift", "@Test func testIt() {}"),
        ("Tests/ServeTests/A.swift", "@Test(arguments: [1]) func it() {}"),
        ("Package.swift", ".unsafeFlags([\"-O\"])"),
        ("Sources/BrakeEngine/A.swift", "let now = ContinuousClock.now"),
        ("Sources/BrakeEngine/A.swift", "var hasher = Hasher()"),
        ("Sources/BrakeModel/A.swift", "Int.random(in: 0...1)"),
        ("Sources/BrakeModel/A.swift", "items.shuffled()"),
        ("Sources/BrakeWire/A.swift", "let lock = Mutex(0)"),
        ("Sources/BrakeWire/A.swift", "func a() async {}"),
        ("Sources/AdBrakeClient/A.swift", "let a: InlineArray<3, Int>"),
    ])
    func `A banned word or call is found, with what to use instead`(
        path: String, text: String
    ) throws {
        let findings = try banned(path, "\n" + text)
        let finding = try #require(findings.first, "nothing was found")
        #expect(finding.line == 2)
        #expect(!finding.instead.isEmpty)
    }

    @Test(arguments: [
        ("Sources/Serve/A.swift", "let text = \"fatalError( print( try!\" // as! Task { }"),
        ("Sources/Serve/A.swift", "let text = #\"a \"print(1)\" b\"#"),
        ("Sources/Serve/A.swift", "let text = \"\"\"\n print(1)\n \"\"\""),
        ("Sources/Serve/A.swift", "/* a /* b */ print(1) */ let c = 1"),
        ("Sources/Serve/A.swift", "reprint(1); a.print(1); let Tasks = 1; updated(Date.self)"),
        ("Sources/adbrake/A.swift", "print(1)"),
        ("Sources/BrakeEngine/A.swift", "let dated = opened(randomly)"),
        ("Tests/ServeTests/A.swift", "@Test func `A sentence`() {}"),
        ("Tests/ServeTests/A.swift", "func asleep() {}"),
    ])
    func `What only looks like it is left alone`(path: String, text: String) throws {
        #expect(try banned(path, text) == [])
    }

    @Test(arguments: [
        ("Sources/BrakeModel/A.swift", "import Foundation"),
        ("Sources/BrakeModel/A.swift", "import BrakeEngine"),
        ("Sources/BrakeEngine/A.swift", "package import EventLog"),
        ("Sources/BrakeWire/A.swift", "import Glibc"),
        ("Sources/EventLog/A.swift", "import SQLiteLog"),
        ("Sources/EventLog/A.swift", "import CSQLite"),
        ("Sources/Serve/A.swift", "import Collect"),
        ("Sources/Serve/A.swift", "import SQLiteLog"),
        ("Sources/Serve/A.swift", "import KafkaLog"),
        ("Sources/Serve/A.swift", "import Foundation"),
        ("Sources/Serve/A.swift", "import struct Foundation.URL"),
        ("Sources/Runtime/A.swift", "import BrakeModel"),
        ("Sources/AdBrakeClient/A.swift", "import Synchronization"),
        ("Sources/adbrake/A.swift", "import CSQLite"),
        ("Tests/ServeTests/A.swift", "@testable import CRdKafka"),
    ])
    func `An import against the architecture is found`(path: String, text: String) {
        #expect(ImportRules.findings(in: TextFile(path: path, text: text)).count == 1)
    }

    @Test(arguments: [
        ("Sources/BrakeEngine/A.swift", "public import BrakeModel"),
        ("Sources/Serve/A.swift", "import Glibc"),
        ("Sources/SQLiteLog/A.swift", "import CSQLite"),
        ("Sources/adbrake/A.swift", "import SQLiteLog"),
        ("Tests/SQLiteLogTests/A.swift", "import CSQLite"),
        ("Sources/Serve/A.swift", "// import Collect"),
    ])
    func `An import that the architecture allows is left alone`(path: String, text: String) {
        #expect(ImportRules.findings(in: TextFile(path: path, text: text)) == [])
    }

    private func shape(_ text: String, path: String = "Sources/Serve/A.swift") -> [String] {
        ShapeRules.findings(in: TextFile(path: path, text: text)).map(\.problem)
    }

    @Test func `The limits of files, functions and lines hold exactly`() {
        func function(_ lines: Int) -> String {
            "// Header.\nfunc a(\n  b: Int\n)\n  -> Int\n{\n"
                + String(repeating: "x\n", count: lines - 6)
                + "}\n"
        }
        #expect(shape(function(70)) == [])
        #expect(shape(function(71)) == ["a function of 71 lines"])
        #expect(shape("// Header.\n" + String(repeating: "x\n", count: 499)) == [])
        #expect(shape("// Header.\n" + String(repeating: "x\n", count: 500)) == ["501 lines"])
        #expect(shape("// Header.\n" + String(repeating: "é", count: 100)) == [])
        #expect(shape("// Header.\n" + String(repeating: "x", count: 101)) == ["101 columns"])
        #expect(shape("// " + String(repeating: "x", count: 98)) == ["101 columns"])
        #expect(
            shape("// H.\nlet a = \"\"\"\n" + String(repeating: "x", count: 101) + "\n\"\"\"") == []
        )
    }

    @Test func `A function without a body does not take the next one's`() {
        let text =
            "// Header.\nprotocol P {\n  func a() -> Int\n  init(b: Int)\n}\nstruct S {\n"
            + String(repeating: "  let x = 1\n", count: 80) + "}\n"
        #expect(shape(text) == [])
    }

    @Test func `A header is there and short`() {
        #expect(shape("import A").count == 1)
        #expect(shape(String(repeating: "// x\n", count: 6)).count == 1)
        #expect(shape(String(repeating: "// x\n", count: 5)) == [])
    }

    @Test func `A script stops at the first error`() {
        #expect(shape("echo", path: "ops/a.sh").count == 2)
        #expect(shape("#!/usr/bin/env bash\nset -euo pipefail\n", path: "ops/a.sh") == [])
    }
}
