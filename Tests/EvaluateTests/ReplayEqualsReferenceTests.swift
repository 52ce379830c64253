// The engine against the reference, over random streams of every kind under every policy.
import BrakeModel
import Foundation
import Testing

@Suite("Replay equals the reference")
struct ReplayEqualsReferenceTests {
    /// The seeds for a kind and policy: `ADBRAKE_SEEDS` of them, else 200 in an optimised build. In
    /// any other the reference is slow: one seed, and a third of the policies for each kind.
    private static func seeds(_ kind: StreamKind, _ name: String) -> Range<UInt64> {
        if let asked = ProcessInfo.processInfo.environment["ADBRAKE_SEEDS"].flatMap(UInt64.init) {
            return 0..<asked
        }
        #if DEBUG
            let turn = UInt64(TestPolicy.names.firstIndex(of: name) ?? 0) + kind.number
            return 0..<(turn % 3 == 0 ? 1 : 0)
        #else
            return 0..<200
        #endif
    }

    @Test("Over random streams", arguments: StreamKind.allCases, TestPolicy.names)
    func streams(_ kind: StreamKind, _ name: String) throws {
        let document = TestPolicy.text(name)
        let policy = try #require(ReferencePolicy(document))
        for seed in Self.seeds(kind, name) {
            let input = RandomStream.lines(kind, tick: policy.tick, seed: seed)
            let bytes = Array((input.joined(separator: "\n") + "\n").utf8)
            var random = SeededGenerator(seed: seed)
            let run = try ReplayRun(
                bytes, policy: document, cuts: Self.cuts(bytes.count, &random))
            let again = try ReplayRun(
                bytes, policy: document, cuts: Self.cuts(bytes.count, &random))
            let isSame = try Self.isSame(
                Reference.changes(over: input, policy), run.changes(), input: input,
                "\(kind)-\(name)-\(seed)")
            #expect(run.output == again.output, "cut in other places, seed \(seed)")
            if !isSame { return }
        }
    }

    @Test("Over random streams in which people decide", arguments: StreamKind.allCases)
    func control(_ kind: StreamKind) throws {
        // In a debug build one policy for each kind, in turn.
        let count = Self.seeds(kind, TestPolicy.names[0]).count
        for seed in 0..<UInt64(max(1, count)) {
            let name = TestPolicy.names[Int(seed &+ kind.number) % TestPolicy.names.count]
            let document = TestPolicy.text(name)
            let policy = try #require(ReferencePolicy(document))
            let input = RandomControl.inserted(
                into: RandomStream.lines(kind, tick: policy.tick, seed: seed),
                count: 12, base: policy.name, seed: seed)
            let bytes = Array((input.joined(separator: "\n") + "\n").utf8)
            var random = SeededGenerator(seed: seed)
            let run = try ReplayRun(bytes, policy: document, cuts: Self.cuts(bytes.count, &random))
            let isSame = try Self.isSame(
                Reference.changes(over: input, policy), run.changes(), input: input,
                "control-\(kind)-\(name)-\(seed)")
            if !isSame { return }
        }
    }

    /// Places to cut so many bytes at: at times very often, at times hardly.
    private static func cuts(_ count: Int, _ random: inout SeededGenerator) -> [Int] {
        let longest = random.pick([400, 5_000, 100_000])
        var cuts = [random.number(0...min(longest, count))]
        while let last = cuts.last, last < count {
            cuts.append(min(count, last + random.number(1...longest)))
        }
        return cuts
    }

    private static func isSame(
        _ expected: [ReferenceChange], _ actual: [ReferenceChange], input: [String],
        _ title: String
    ) throws -> Bool {
        let count = max(expected.count, actual.count)
        for index in 0..<count {
            let one = index < expected.count ? expected[index] : nil
            let other = index < actual.count ? actual[index] : nil
            if let one, let other, one.agrees(with: other) { continue }
            let file = FileManager.default.temporaryDirectory
                .appending(path: "adbrake-\(title).ndjson")
            try Data((input.joined(separator: "\n") + "\n").utf8).write(to: file)
            Issue.record(
                """
                \(title): change \(index) of \(expected.count) and \(actual.count) differs
                reference \(one?.description ?? "none")
                replay    \(other?.description ?? "none")
                input in \(file.path())
                """)
            return false
        }
        return true
    }

    /// For `adbrake replay` by hand: ADBRAKE_STREAM=KIND:POLICY:SEED:FILE.
    @Test(
        "A stream can be written to a file",
        .enabled(if: ProcessInfo.processInfo.environment["ADBRAKE_STREAM"] != nil))
    func write() throws {
        let words = (ProcessInfo.processInfo.environment["ADBRAKE_STREAM"] ?? "")
            .split(separator: ":", maxSplits: 3).map(String.init)
        try #require(words.count == 4)
        let kind = try #require(StreamKind(rawValue: words[0]))
        let policy = try #require(ReferencePolicy(TestPolicy.text(words[1])))
        let seed = try #require(UInt64(words[2]))
        let lines = RandomStream.lines(kind, tick: policy.tick, seed: seed)
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(
            to: URL(filePath: words[3]))
    }
}
