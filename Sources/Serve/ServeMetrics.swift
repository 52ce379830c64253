// What operators see of the serve stage.

import BrakeModel
import EventLog
import Runtime

/// The stage's metrics.
struct ServeMetrics: Sendable {
    private let records: Family<Counter>
    private let rejected: Family<Counter>
    private let older: Family<Counter>
    private let faults: Family<Counter>
    private let restarts: Family<Counter>
    private let delays: Family<Histogram>
    private let documents: Family<Counter>
    private let streamEnds: Family<Counter>
    private let streamRefusals: Family<Counter>
    private let refusedBootstraps: Family<Counter>
    private let apps: Family<Gauge>

    init(_ metrics: Metrics) {
        records = metrics.counter(
            "adbrake_serve_records_total", help: "Records applied.", labels: ["topic"])
        rejected = metrics.counter(
            "adbrake_serve_rejected_total",
            help: "Records that could not be used, by reason; what was known stays.",
            labels: ["topic", "reason"])
        older = metrics.counter(
            "adbrake_serve_older_total",
            help: "Records that came after a newer one, and were not applied.", labels: ["topic"])
        faults = metrics.counter(
            "adbrake_serve_log_faults_total", help: "Failed reads of the log.")
        restarts = metrics.counter(
            "adbrake_serve_restarts_total",
            help: "How often the table was built anew, because the log could not be followed on.")
        delays = metrics.histogram(
            "adbrake_serve_delay_seconds",
            help: "From the log taking a throttle record to its being served, while live.")
        documents = metrics.counter(
            "adbrake_serve_documents_total", help: "Documents of apps handed out, by their cause.",
            labels: ["cause"])
        streamEnds = metrics.counter(
            "adbrake_serve_stream_ends_total", help: "Streams that ended, by reason.",
            labels: ["reason"])
        streamRefusals = metrics.counter(
            "adbrake_serve_streams_refused_total", help: "Streams refused, as there were too many.")
        refusedBootstraps = metrics.counter(
            "adbrake_serve_bootstrap_refused_total",
            help: "Bootstrap files that were given while running and could not be used.")
        apps = metrics.gauge(
            "adbrake_serve_apps", help: "Apps in the table, by their last published state.",
            labels: ["state"])
    }

    func applied(_ topic: Topic) { records.add(1, topic.name) }

    func rejected(_ topic: Topic, _ reason: String) { rejected.add(1, topic.name, reason) }

    func ignoredOlder(_ topic: Topic) { older.add(1, topic.name) }

    func logFailed() { faults.series().add() }

    func restarted() { restarts.series().add() }

    func delayed(milliseconds: Int64) {
        delays.series().observe(Double(max(0, milliseconds)) / 1_000)
    }

    func handedOut(cause: String) { documents.add(1, cause) }

    func documents(cause: String) -> Counter { documents.series(cause) }

    func streamEnded(_ reason: String) { streamEnds.add(1, reason) }

    func refusedBootstrap() { refusedBootstraps.series().add() }

    func streamRefused() { streamRefusals.series().add() }

    func published(_ image: TableImage) {
        for state in ThrottleState.allCases {
            let count = image.shards.reduce(0) { $0 + $1.counts[state.severity] }
            apps.set(count, state.name)
        }
    }

    /// Values which are read when they are scraped.
    static func addGauges(
        to metrics: Metrics, table: ThrottleTable, hub: StreamHub, clock: LogClock
    ) {
        metrics.gauge("adbrake_serve_ready", help: "1 once the states may be served.") {
            table.image.isReady ? 1 : 0
        }
        metrics.gauge(
            "adbrake_serve_age_seconds",
            help: "Since the last epoch applied, of the partition that has waited longest."
        ) {
            Double(table.image.oldestAge(now: clock.now())) / 1_000
        }
        metrics.gauge("adbrake_serve_streams", help: "Clients that stream changes.") {
            Double(hub.clientCount)
        }
    }
}
