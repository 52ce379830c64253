// What the fuzzer has found worth keeping, and all examples of the contract, through every door.
import Foundation
import FuzzSubjects
import Testing

@Suite struct CorpusTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func files(_ folder: String) -> [Data] {
        let all = FileManager.default.enumerator(
            at: root.appending(path: folder), includingPropertiesForKeys: nil)
        let paths = (all?.allObjects as? [URL]) ?? []
        return paths.sorted { $0.path() < $1.path() }.compactMap { try? Data(contentsOf: $0) }
    }

    @Test(arguments: FuzzSubject.allCases)
    func `a door holds against all that was found`(subject: FuzzSubject) {
        let inputs = Self.files("Fuzz/corpus/\(subject.rawValue)") + Self.files("schemas/examples")
        #expect(inputs.count > 50)
        for input in inputs {
            unsafe input.withUnsafeBytes { unsafe subject.take($0) }
        }
    }
}
