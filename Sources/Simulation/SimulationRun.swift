// Many seeds one after the other: what they have gone through, and the first that has failed.

/// A seed in which something was wrong.
package struct SimulationFailure: Sendable {
    package let seed: UInt64
    package let findings: [String]
}

/// Runs seeds until all are done or one has failed.
package struct SimulationRun: Sendable {
    package private(set) var figures = WorldFigures()
    package private(set) var seeds: UInt64 = 0
    package private(set) var failure: SimulationFailure?
    private let first: UInt64
    private let canary: Canary?

    package init(from first: UInt64, canary: Canary? = nil) {
        self.first = first
        self.canary = canary
    }

    /// Runs the next seed; false when it has failed.
    package mutating func next() -> Bool {
        let seed = first &+ seeds
        let world = World(seed: seed, canary: canary)
        world.run()
        seeds += 1
        figures += world.figures
        if !world.findings.isEmpty {
            failure = SimulationFailure(seed: seed, findings: world.findings)
        }
        return failure == nil
    }

    /// Figures in one paragraph.
    package var summary: String {
        let faults = FaultKind.allCases.compactMap { kind in
            figures.faults[kind].map { "\(kind.rawValue) \($0)" }
        }
        return """
            \(seeds) seeds, \(figures.steps) steps, \(figures.records) records with \
            \(figures.events) events of which \(figures.stragglers) came late, \
            \(figures.epochs) epochs, \(figures.snapshots) snapshots, \(figures.changes) changes, \
            \(figures.stressed) apps under stress
            faults: \(faults.joined(separator: ", "))
            \(figures.retries) calls tried again, \(figures.fenced) lanes refused, \
            \(figures.decisions) decisions of people
            """
    }
}
