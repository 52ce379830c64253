// Which faults a seed is full of: each picks its own mix, so that rare ones meet undisturbed and in
// company.

/// What can happen to a simulated system.
package enum FaultKind: String, CaseIterable, Sendable {
    /// A lane is gone, and another begins in its place, at once or later.
    case crash
    /// A lane that was thought dead goes on after another has its place.
    case zombie
    /// A lane is asked to stop, and begins again.
    case stop
    /// Partitions move between lanes.
    case rebalance
    /// The group gives up a lane that lives.
    case expulsion
    /// A lane stands still for a while.
    case freeze
    /// Commits fail, before or after they took effect.
    case commit
    /// Calls to the log fail.
    case network
    /// An input is not delivered for a while, though the log says that more waits.
    case stall
    /// An input is not delivered for a while, and the log says that nothing waits.
    case lateInput
    /// A snapshot is changed, cut short or lost.
    case snapshot
    /// The wall clock is set forwards.
    case clockForwards
    /// The wall clock is set back.
    case clockBack
    /// Whoever appended does not know whether it took effect, and appends again.
    case append
    /// An edge hears nothing for a while.
    case slowEdge
    /// An edge begins anew.
    case edgeRestart
    /// Retention deletes what no restore needs any more.
    case retention
    /// Somebody who was thought gone writes an older state over a newer one.
    case olderRecord
}

/// How often which fault happens, for each step of the simulation.
package struct FaultMix: Sendable {
    private var chances: [(kind: FaultKind, chance: Double)] = []

    /// A mix of its own for each generator: some kinds, each at a rate of its own.
    init(_ random: inout SimulationRandom) {
        let share = random.pick([0.0, 0.15, 0.3, 0.6, 1.0])
        for kind in FaultKind.allCases where random.chance(share) {
            chances.append((kind, random.pick([0.002, 0.005, 0.02, 0.05])))
        }
    }

    /// The kinds in it.
    var kinds: [FaultKind] { chances.map(\.kind) }

    /// What happens at this step.
    func faults(_ random: inout SimulationRandom) -> [FaultKind] {
        chances.filter { random.chance($0.chance) }.map(\.kind)
    }
}
