// The JSON Schema files against the examples, where Python and its jsonschema are installed.

import Foundation
import Testing

@Suite struct SchemaTests {
    @Test(.enabled("python3-jsonschema is not installed") { Script.canCheck })
    func `all examples agree with their schemas`() throws {
        let outcome = try Script.run(["python3", "-B", Fixture.path(of: "check.py")])
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}

private enum Script {
    static var canCheck: Bool {
        (try? run(["python3", "-c", "import jsonschema"]))?.status == 0
    }

    static func run(_ command: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
}
