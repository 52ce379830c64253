// What operators see of the evaluate stage.

import BrakeEngine
import BrakeModel
package import Runtime

/// The stage's metrics; one for all lanes of a process.
package struct EvaluateMetrics: Sendable {
    private let events: Family<Counter>
    private let corrections: Family<Counter>
    private let rejected: Family<Counter>
    private let changes: Family<Counter>
    private let notices: Family<Counter>
    private let commits: Family<Histogram>
    private let faults: Family<Counter>
    private let clockAge: Family<Gauge>
    private let apps: Family<Gauge>
    private let restoring: Family<Gauge>

    package init(_ metrics: Metrics) {
        events = metrics.counter(
            "adbrake_evaluate_events_total", help: "Events counted.", labels: ["partition"])
        corrections = metrics.counter(
            "adbrake_evaluate_corrections_total",
            help: "Events whose time or identity needed care, by what was met.", labels: ["kind"])
        rejected = metrics.counter(
            "adbrake_evaluate_rejected_total",
            help: "Events that could not be used, by reason; they are in the dead topic.",
            labels: ["reason"])
        changes = metrics.counter(
            "adbrake_evaluate_changes_total", help: "Throttle records, by state and cause.",
            labels: ["state", "cause"])
        notices = metrics.counter(
            "adbrake_evaluate_notices_total", help: "Notices, by kind.", labels: ["kind"])
        commits = metrics.histogram(
            "adbrake_evaluate_commit_seconds", help: "How long the log took to commit epochs.")
        faults = metrics.counter(
            "adbrake_evaluate_log_faults_total",
            help: "Failed calls to the log that were tried again.",
            labels: ["operation"])
        clockAge = metrics.gauge(
            "adbrake_evaluate_clock_age_seconds",
            help: "How far the clock of a partition is behind the wall clock.",
            labels: ["partition"])
        apps = metrics.gauge(
            "adbrake_evaluate_apps", help: "Apps known, by partition.", labels: ["partition"])
        restoring = metrics.gauge(
            "adbrake_evaluate_restoring",
            help: "1 while a partition waits for its state and so decides nothing.",
            labels: ["partition"])
    }

    func fault(_ operation: String) { faults.add(1, operation) }

    func restoring(_ isSo: Bool, _ partition: Int) {
        restoring.set(isSo ? 1 : 0, String(partition))
    }

    func committed(seconds: Double) { commits.series().observe(seconds) }

    /// Notes what a group has done since the tallies given.
    func note(_ group: PartitionGroup, since before: Tallies, wall: Int64) {
        let partition = String(group.partition)
        let now = group.evaluator.tallies
        events.add(Int(now.events - before.events), partition)
        apps.set(group.evaluator.appCount, partition)
        // Before its first record, and while an input is not read to its end, there is no clock.
        if group.hasClock {
            clockAge.set(Double(max(0, wall - group.evaluator.clock)) / 1_000, partition)
        }
        let kinds: [(String, KeyPath<Tallies, Int64>)] = [
            ("repeat", \.repeats), ("expired", \.expired), ("converted_time", \.convertedTimes),
            ("drift", \.shifted), ("future", \.future), ("straggler", \.stragglers),
            ("saturated", \.saturated), ("displaced_id", \.displacedIDs),
            ("refused_country", \.refusedCountries),
        ]
        for (kind, path) in kinds where now[keyPath: path] > before[keyPath: path] {
            corrections.add(Int(now[keyPath: path] - before[keyPath: path]), kind)
        }
        for (reason, count) in group.takeRejected() { rejected.add(Int(count), reason.rawValue) }
        for change in group.decisions.changes {
            changes.add(1, change.state.name, change.cause.name)
        }
        for notice in group.decisions.notices { notices.add(1, notice.kind.name) }
    }
}
