// What a listener counts.
import Runtime

/// Requests, their time, and everything that was refused, each by reason.
struct ListenerMeters: Sendable {
    private let requests: Family<Counter>
    private let seconds: Family<Histogram>
    private let refusals: Family<Counter>
    private let open: Gauge
    private let name: String

    /// What is refused before there is a request that could be answered.
    enum Cut: String {
        /// The listener has as many connections as it may have.
        case connections
        /// The address has as many connections as it may have.
        case addressConnections = "address_connections"
        /// Closed before a request line that could be read.
        case noRequest = "no_request"
        /// Headers that are malformed, too large, or never came to their end.
        case headers
        /// The client left before its request was complete.
        case aborted
        /// The request was not complete in time, or its answer not read.
        case slow
    }

    init(name: String, _ metrics: Metrics) {
        self.name = name
        requests = metrics.counter(
            "adbrake_http_requests_total", help: "Requests answered.",
            labels: ["listener", "route", "status"])
        seconds = metrics.histogram(
            "adbrake_http_request_seconds",
            help: "Time from a complete request to its answer being ready.",
            labels: ["listener", "route"])
        refusals = metrics.counter(
            "adbrake_http_refusals_total",
            help: "Requests and connections refused, by reason.",
            labels: ["listener", "route", "reason"])
        open = metrics.gauge(
            "adbrake_http_connections", help: "Open connections.", labels: ["listener"]
        ).series(name)
    }

    func open(_ count: Int) { open.set(count) }

    func answered(route: String, _ response: Response, nanoseconds: Int64) {
        requests.add(1, name, route, String(response.status))
        seconds.observe(Double(nanoseconds) / 1e9, name, route)
        if response.status >= 400 {
            let reason = response.reason.map { "\($0)" } ?? "status_\(response.status)"
            refusals.add(1, name, route, reason)
        }
    }

    /// The numbers of a route's answers with a status, for who counts them often.
    func answers(route: String, status: Int) -> Counter {
        requests.series(name, route, String(status))
    }

    func seconds(route: String) -> Histogram { seconds.series(name, route) }

    func cut(_ why: Cut, count: Int = 1) {
        if count > 0 { refusals.add(count, name, "none", why.rawValue) }
    }
}
