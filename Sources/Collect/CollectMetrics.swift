// What operators see of the collector.

import BrakeModel
package import Runtime

package struct CollectMetrics: Sendable {
    private let events: Family<Counter>
    private let rejected: Family<Counter>
    private let refused: Family<Counter>
    private let appends: Family<Histogram>

    package init(_ metrics: Metrics) {
        events = metrics.counter(
            "adbrake_collect_events_total", help: "Events accepted: the log has them.",
            labels: ["type"])
        rejected = metrics.counter(
            "adbrake_collect_rejected_total", help: "Events rejected, by reason.",
            labels: ["reason"])
        refused = metrics.counter(
            "adbrake_collect_refused_total", help: "Uploads refused as a whole, by status.",
            labels: ["status"])
        appends = metrics.histogram(
            "adbrake_collect_append_seconds", help: "How long the log took to have an upload.")
    }

    func accepted(_ type: EventType, _ count: Int) { events.add(count, type.name) }
    func rejected(_ reason: Rejection) { rejected.add(1, reason.rawValue) }
    func refused(_ status: Int) { refused.add(1, String(status)) }
    func appended(seconds: Double) { appends.series().observe(seconds) }
}
