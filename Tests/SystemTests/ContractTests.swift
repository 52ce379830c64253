// The OpenAPI document against the running program, by a tool that makes requests up from it.
import Foundation
import ProcessTestSupport
import Testing

@Suite("The OpenAPI document")
struct ContractTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("ops/schemathesis.sh").path
    /// The tool itself ends sooner.
    private static let milliseconds = 300_000

    @Test("holds of the program, whatever is sent to it", .needsClients)
    func holds() throws {
        let run = try Child(
            command: ["/bin/bash", Self.script, try Child.program], variables: ["HOME=/tmp"])
        defer { run.close() }
        let ending = try run.waitForEnd(milliseconds: Self.milliseconds)
        #expect(ending == .exited(0), "\(run.output)\(run.complaints)")
        print(run.output, terminator: "")
    }
}
