// The repository's own rules, held by a test: a failure names the file, the line, and what to do.
import Testing

@Suite struct RepositoryTests {
    /// Read once: a suite is made anew for each of its tests.
    private static let shared = Result { try Repository() }
    private let repository: Repository

    init() throws { repository = try Self.shared.get() }

    private func expectNone(_ findings: [Finding], _ location: SourceLocation = #_sourceLocation) {
        for finding in findings.sorted(by: { "\($0)" < "\($1)" }) {
            Issue.record("\(finding.description)", sourceLocation: location)
        }
    }

    @Test func `The rules see the repository`() {
        #expect(repository.text("Package.swift") != nil)
        #expect(repository.texts.filter(\.isSwift).count > 50)
    }

    @Test func `Targets import only what the architecture allows`() {
        expectNone(repository.texts.flatMap(ImportRules.findings))
        expectNone(ImportRules.unknownTargets(repository))
    }

    @Test func `Banned words and calls do not occur`() throws {
        for ban in BannedCalls.all {
            expectNone(try repository.texts.flatMap { try ban.findings(in: $0) })
        }
    }

    @Test func `Files keep to the limits and say what they are for`() {
        expectNone(repository.texts.flatMap(ShapeRules.findings))
    }

    @Test func `Nothing lies around unused or too large`() {
        expectNone(ShapeRules.strays(in: repository))
    }

    @Test func `Documents lead to each other and to files that are there`() {
        expectNone(DocumentRules.findings(in: repository))
        expectNone(DocumentRules.unknownOptions(in: repository))
    }
}
