// What operators see of the collector. What is refused as a whole is among the listener's metrics.

import BrakeModel
package import Runtime

package struct CollectMetrics: Sendable {
    private let events: [EventType: Counter]
    private let rejected: Family<Counter>
    private let ignored: Family<Counter>
    private let repeats: Counter
    private let appends: Histogram
    private let metrics: Metrics

    package init(_ metrics: Metrics) {
        self.metrics = metrics
        let events = metrics.counter(
            "adbrake_collect_events_total", help: "Events accepted: the log has them.",
            labels: ["type"])
        self.events = Dictionary(
            uniqueKeysWithValues: EventType.allCases.map { ($0, events.series($0.name)) })
        rejected = metrics.counter(
            "adbrake_collect_rejected_total", help: "Events rejected, by reason.",
            labels: ["reason"])
        ignored = metrics.counter(
            "adbrake_collect_ignored_total",
            help: "What other protocols brought and has no meaning here.",
            labels: ["protocol", "what"])
        repeats = metrics.counter(
            "adbrake_collect_repeats_total",
            help: "Uploads that had been answered before, by their Idempotency-Key."
        ).series([])
        appends = metrics.histogram(
            "adbrake_collect_append_seconds", help: "How long the log took to have an upload."
        ).series([])
    }

    func watch(_ room: WaitingRoom, _ repeats: RepeatMemory) {
        metrics.gauge("adbrake_collect_waiting", help: "Uploads that wait for the log.") {
            Double(room.count)
        }
        metrics.gauge("adbrake_collect_waiting_bytes", help: "Their bytes.") {
            Double(room.waitingBytes)
        }
        metrics.gauge(
            "adbrake_collect_remembered", help: "Uploads remembered by their Idempotency-Key."
        ) { Double(repeats.count) }
    }

    func accepted(_ type: EventType, _ count: Int) { events[type]?.add(count) }
    func rejected(_ reason: Rejection) { rejected.add(1, reason.rawValue) }
    func ignored(_ name: String, _ what: String, _ count: Int) { ignored.add(count, name, what) }
    func repeated() { repeats.add() }
    func appended(seconds: Double) { appends.observe(seconds) }
}
