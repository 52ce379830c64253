// Chaos on three real brokers: a fault of each kind in turn, and after each the log is held against
// undisturbed runs over the same input. `make chaos` runs it and nothing else does.
import BrakeModel
import EventLog
import Foundation
import Runtime
import Testing

/// One kind of fault under load, and how often it is made.
struct ChaosFault: Sendable {
    let name: String
    let times: Int
    /// Makes the fault and ends it.
    let make: @Sendable (ChaosArena, inout SeededGenerator) throws -> Void
}

@Suite("Chaos", .serialized, .enabled(if: ChaosCluster.folder != nil, "make chaos runs it"))
struct ChaosTests {
    private static let seed =
        ProcessInfo.processInfo.environment["ADBRAKE_SEED"].flatMap { UInt64($0) } ?? 1

    /// Whether a fault is asked for: by a part of its name, or as all are.
    private static func isWanted(_ name: String) -> Bool {
        let only = ProcessInfo.processInfo.environment["ADBRAKE_CHAOS_ONLY"] ?? ""
        return only.isEmpty || only.split(separator: ",").contains { name.contains($0) }
    }

    /// Prints at once, also into a pipe: a run takes a quarter of an hour.
    private static func tell(_ line: String) {
        print(line)
        fflush(nil)
    }

    @Test("loses nothing, counts nothing twice, and decides as if nothing had happened")
    func faults() throws {
        let begun = SystemClock.monotonicMilliseconds()
        var rows: [ChaosRow] = []
        let cluster = try ChaosCluster()
        Self.tell(ChaosRow.heading)
        if ChaosFault.names.contains(where: Self.isWanted) {
            try Self.inArena("chaos", cluster) { rows += try Self.underLoad($0) }
        }
        for ending in ChaosEnding.all where Self.isWanted(ending.name) {
            try Self.inArena(ending.prefix, cluster, ending.snapshotEvery) {
                rows.append(try Self.run(ending, $0))
            }
        }
        let seconds = (SystemClock.monotonicMilliseconds() - begun) / 1_000
        print("\n\(ChaosRow.table(rows))\n\nseed \(Self.seed), \(seconds) s\n")
    }

    /// Topics of its own for one course of events, and everything that runs over them.
    private static func inArena(
        _ prefix: String, _ cluster: ChaosCluster, _ snapshotEvery: String = "5s",
        _ body: (ChaosArena) throws -> Void
    ) throws {
        try withWorkplace { workplace in
            let arena = try ChaosArena(
                cluster, workplace, name: prefix, seed: seed, snapshotEvery: snapshotEvery)
            defer { arena.close() }
            try body(arena)
        }
    }

    /// One evaluator under load, and a fault that ends its work.
    private static func run(_ ending: ChaosEnding, _ arena: ChaosArena) throws -> ChaosRow {
        var total = ChaosFindings()
        try arena.start("a")
        try arena.startLoad()
        StopSignal().wait(milliseconds: 5_000)
        var row = row(ending.name, 1, arena, &total, isLast: false) {}
        guard row.result != ChaosRow.failed else { return row }
        do {
            row.result = try ending.make(arena)
        } catch {
            row.result = ChaosRow.failed
            Issue.record("\(ending.name): \(error)")
        }
        tell(row.line)
        return row
    }

    /// Two evaluators under load, one of them behind a relay, and one fault after the other.
    private static func underLoad(_ arena: ChaosArena) throws -> [ChaosRow] {
        let relay = try Relay(arena.cluster.relays)
        defer { relay.close() }
        var random = SeededGenerator(seed: seed)
        try arena.start("a")
        try arena.start("b", relayed: true)
        tell("chaos: the program uses \(try arena.library(of: "a"))")
        try arena.startLoad()
        try arena.recover()
        StopSignal().wait(milliseconds: 5_000)
        var total = ChaosFindings()
        var rows = [row("none", 0, arena, &total) {}]
        for fault in ChaosFault.underLoad(relay) where isWanted(fault.name) {
            rows.append(
                row(fault.name, fault.times, arena, &total) {
                    for _ in 0..<fault.times { try fault.make(arena, &random) }
                })
        }
        rows.append(row("none, at rest", 0, arena, &total) { try arena.finishLoad() })
        return rows
    }

    /// Makes a fault and holds the log against the truth; `total` is what was found so far.
    /// `isLast`: nothing more is done in this row.
    private static func row(
        _ name: String, _ times: Int, _ arena: ChaosArena, _ total: inout ChaosFindings,
        isLast: Bool = true, _ body: () throws -> Void
    ) -> ChaosRow {
        var row = ChaosRow(name: name, times: times)
        do {
            try body()
            row.recoveredMilliseconds = try arena.recover()
            let found = try arena.check()
            row.records = found.records - total.records
            row.lost = found.lost.count - total.lost.count
            row.doubled = found.doubled.count - total.doubled.count
            row.stragglers = found.stragglers - total.stragglers
            let new = Array(found.all.dropFirst(total.all.count)) + (try arena.restartEnded())
            total = found
            if !new.isEmpty { throw ChaosFailure(new.prefix(10).joined(separator: "\n")) }
        } catch {
            row.result = ChaosRow.failed
            Issue.record("\(name): \(error)")
            // The faults after this one shall find what they need.
            _ = try? arena.restartEnded()
        }
        if isLast { tell(row.line) }
        return row
    }
}
