// The JSON Schema files against the examples, where Python and its jsonschema are installed.

import ProcessTestSupport
import Testing

@Suite struct SchemaTests {
    @Test(.enabled("python3-jsonschema is not installed") { Script.canCheck })
    func `all examples agree with their schemas`() throws {
        let outcome = try ChildProcess.run(["python3", "-B", Fixture.path(of: "check.py")])
        #expect(outcome.ending == .exited(0), "\(String(decoding: outcome.output, as: UTF8.self))")
    }
}

private enum Script {
    static var canCheck: Bool {
        let outcome = try? ChildProcess.run(["python3", "-c", "import jsonschema"])
        return outcome?.ending == .exited(0)
    }
}
