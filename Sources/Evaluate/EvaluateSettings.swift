// What a person can set of the evaluate stage.

package import BrakeEngine

/// Settings of the evaluator lanes; times in milliseconds.
package struct EvaluateSettings: Sendable {
    /// The policy of every app that people have not assigned another.
    package var policy: Policy
    package var limits: EvaluatorLimits
    /// How far the clock stays behind the wall clock when nothing waits.
    package var idleLagMilliseconds: Int64 = 500
    /// The longest an epoch stays open while there is input.
    package var epochMilliseconds: Int64 = 200
    /// How often an idle partition commits an epoch all the same: the heartbeat of edges.
    package var heartbeatMilliseconds: Int64 = 2_000
    /// How often it is looked whether people have decided anything.
    package var controlMilliseconds: Int64 = 250
    /// How often the state is put into the log.
    package var snapshotMilliseconds: Int64 = 60_000
    /// How long a lane restores a partition before it looks after the others again.
    package var restorePieceMilliseconds: Int64 = 50
    /// Set when partitions are to be made anew from the topics.
    package var rebuild: Rebuild?

    /// What a partition may hold in a process of so many apps. Apps spread evenly enough: each
    /// partition has room for three times its share. It must not depend on other partitions, or a
    /// replay of one would decide otherwise.
    package static func limits(appsMax: Int, partitions: Int) -> EvaluatorLimits {
        let share = max(1_000, 3 * appsMax / partitions)
        return EvaluatorLimits(appsMax: min(share, appsMax))
    }

    package init(policy: Policy, limits: EvaluatorLimits = EvaluatorLimits()) {
        self.policy = policy
        self.limits = limits
    }
}
