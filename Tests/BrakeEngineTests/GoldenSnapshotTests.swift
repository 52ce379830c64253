// Snapshots that earlier builds have written are read by this one, and mean the same.
import BrakeModel
import Foundation
import Testing

@testable import BrakeEngine

@Suite struct GoldenSnapshotTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Golden")

    /// What the golden images are of: never change it, add another one beside it.
    private static func makeEvaluator() -> Evaluator {
        let limits = EvaluatorLimits(sessionIDsMax: 1 << 10, crashIDsMax: 1 << 10)
        var evaluator = Evaluator(policy: SnapshotTests.quick, limits: limits)
        var decisions = Decisions()
        for batch in EventStream(seed: 42, batches: 3, apps: 3).batches {
            evaluator.apply(batch, into: &decisions)
        }
        return evaluator
    }

    /// With ADBRAKE_WRITE_GOLDEN a missing image is written, as when the format has got a version.
    @Test(arguments: [1, 3, 4])
    func `the image of an earlier version is read, and that of this one is what it writes`(
        version: Int
    ) throws {
        let file = Self.folder.appending(path: "snapshot-\(version).bin")
        var evaluator = Self.makeEvaluator()
        // Before the fourth version stress was not counted.
        if version < 4 { evaluator.forgetStress() }
        let image = evaluator.snapshot()
        if ProcessInfo.processInfo.environment["ADBRAKE_WRITE_GOLDEN"] != nil,
            !FileManager.default.fileExists(atPath: file.path())
        {
            try Data(image).write(to: file)
        }
        let golden = try [UInt8](Data(contentsOf: file))
        let limits = EvaluatorLimits(sessionIDsMax: 1 << 10, crashIDsMax: 1 << 10)
        let restored = try Evaluator(
            restoring: golden, controls: Controls(policies: [SnapshotTests.quick]), limits: limits)
        #expect(restored.checksum == evaluator.checksum)
        #expect(restored.clock == evaluator.clock && restored.appCount == evaluator.appCount)
        // Equal states are equal bytes, whichever version they have come from.
        #expect(restored.snapshot() == image)
        // Not needed of a later version, but of this one.
        if golden.first == image.first { #expect(image == golden) }
    }
}
