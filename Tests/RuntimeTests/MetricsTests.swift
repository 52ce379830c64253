// Metrics as a Prometheus server reads them.
import Testing

@testable import Runtime

@Suite struct MetricsTests {
    @Test func `A scrape is in order of name and labels, with all text escaped`() {
        let metrics = Metrics()
        let requests = metrics.counter(
            "b_requests_total", help: "Requests\nby \\ route.", labels: ["route", "status"])
        requests.add(2, "/v1", "202")
        requests.add(1, "/\"\\\n", "200")
        metrics.gauge("a_lag_seconds", help: "Lag.").set(1.5)
        metrics.gauge("c_depth", help: "Depth.") { 7 }
        #expect(
            metrics.rendered() == #"""
                # HELP a_lag_seconds Lag.
                # TYPE a_lag_seconds gauge
                a_lag_seconds 1.5
                # HELP b_requests_total Requests\nby \\ route.
                # TYPE b_requests_total counter
                b_requests_total{route="/\"\\\n",status="200"} 1
                b_requests_total{route="/v1",status="202"} 2
                # HELP c_depth Depth.
                # TYPE c_depth gauge
                c_depth 7

                """#)
    }

    @Test func `Buckets are cumulative and end at infinity`() {
        let metrics = Metrics()
        let family = metrics.histogram("h", help: "H.", labels: ["p"], bounds: [0.5, 1])
        for value in [0.25, 0.5, 0.75, 8] { family.observe(value, "x") }
        #expect(
            metrics.rendered() == #"""
                # HELP h H.
                # TYPE h histogram
                h_bucket{p="x",le="0.5"} 2
                h_bucket{p="x",le="1"} 3
                h_bucket{p="x",le="+Inf"} 4
                h_sum{p="x"} 9.5
                h_count{p="x"} 4

                """#)
    }

    @Test func `A histogram without labels has its bounds alone in braces`() {
        let metrics = Metrics()
        metrics.histogram("h", help: "H.", bounds: [1]).observe(1)
        #expect(metrics.rendered().contains("h_bucket{le=\"1\"} 1\n"))
        #expect(metrics.rendered().contains("\nh_sum 1\n"))
    }

    @Test func `Label values past the limit share one series`() {
        let metrics = Metrics()
        let family = metrics.counter("apps_total", help: "Apps.", labels: ["app"])
        for app in 0..<Metrics.seriesMax + 500 { family.add(1, "app\(app)") }
        #expect(family.series("other").value == 500)
        let lines = metrics.rendered().split(separator: "\n")
        #expect(lines.count == Metrics.seriesMax + 1 + 2)
    }

    @Test func `Two parts that ask for the same family share it`() {
        let metrics = Metrics()
        metrics.counter("x_total", help: "X.").add(1)
        metrics.counter("x_total", help: "X.").add(2)
        #expect(metrics.rendered().contains("x_total 3\n"))
    }

    @Test func `Updates from many threads all count`() {
        let metrics = Metrics()
        let counter = metrics.counter("n_total", help: "N.").series()
        let gauge = metrics.gauge("g", help: "G.").series()
        let histogram = metrics.histogram("h", help: "H.").series()
        let threads = (0..<4).map { number in
            WorkerThread(name: "adds \(number)") {
                for _ in 0..<1_000 {
                    counter.add(1)
                    gauge.add(1)
                    histogram.observe(1)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(counter.value == 4_000)
        #expect(gauge.value == 4_000)
        #expect(histogram.count == 4_000)
    }

    @Test(arguments: [
        (Double.infinity, "+Inf"), (-Double.infinity, "-Inf"), (Double.nan, "NaN"), (3, "3"),
        (0.1, "0.1"), (1e300, "1e+300"),
    ])
    func `Numbers are written as Prometheus reads them`(value: Double, text: String) {
        #expect(LabelText.number(value) == text)
    }
}
