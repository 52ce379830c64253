// What operators see of the bridge.

import Runtime

struct BridgeMetrics: Sendable {
    private let versions: Family<Counter>
    private let conflicts: Family<Counter>
    private let failures: Family<Counter>
    private let isFailing: Family<Gauge>
    private let pins: Family<Gauge>

    init(_ metrics: Metrics) {
        versions = metrics.counter(
            "adbrake_bridge_versions_total", help: "Versions of the template published.")
        conflicts = metrics.counter(
            "adbrake_bridge_conflicts_total",
            help: "How often somebody else had published between reading and writing.")
        failures = metrics.counter(
            "adbrake_bridge_failures_total", help: "Times that the template was not put in order.")
        isFailing = metrics.gauge(
            "adbrake_bridge_failing", help: "1 while the template is not in order.")
        pins = metrics.gauge(
            "adbrake_bridge_pinned", help: "Values that a person has set by hand, left alone.")
        failing(false)
        pinned(0)
    }

    func published() { versions.series().add() }
    func conflicted() { conflicts.series().add() }
    func failed() { failures.series().add() }
    func failing(_ isFailing: Bool) { self.isFailing.series().set(isFailing ? 1 : 0) }
    func pinned(_ count: Int) { pins.series().set(count) }
}
