// Numbers that operators watch. A part asks the registry for its families once, keeps them, and
// updates them per batch; a scrape renders all of them as Prometheus text.
import Synchronization

/// All metrics of the process. Passed in, never global.
package final class Metrics: Sendable {
    /// Series of one family; more labels than this share the series `other`.
    package static let seriesMax = 1_000
    package static let familiesMax = 500

    private let families = Mutex<[String: any MetricFamily]>([:])

    package init() {}

    /// A count which only rises; the name ends in `_total`.
    package func counter(_ name: String, help: String, labels: [String] = []) -> Family<Counter> {
        precondition(name.hasSuffix("_total"), "a counter is named …_total: \(name)")
        return family(name, help, labels) { Counter() }
    }

    /// A value which goes up and down.
    package func gauge(_ name: String, help: String, labels: [String] = []) -> Family<Gauge> {
        family(name, help, labels) { Gauge() }
    }

    /// A value read at each scrape; the closure is called from the scraping thread.
    package func gauge(_ name: String, help: String, read: @escaping @Sendable () -> Double) {
        let family: Family<ReadGauge> = family(name, help, []) { ReadGauge(read) }
        _ = family.series([])
    }

    /// How observations spread over buckets with these upper bounds, which rise.
    package func histogram(
        _ name: String, help: String, labels: [String] = [], bounds: [Double] = Histogram.seconds
    ) -> Family<Histogram> {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds rise: \(name)")
        return family(name, help, labels) { Histogram(bounds: bounds) }
    }

    /// Prometheus text exposition format 0.0.4, in order of name and labels.
    package func rendered() -> String {
        let families = families.withLock { Array($0.values) }
        var text = ""
        for family in families.sorted(by: { $0.name < $1.name }) { family.render(into: &text) }
        return text
    }

    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private func family<M: Metric>(
        _ name: String, _ help: String, _ labels: [String], _ make: @escaping @Sendable () -> M
    ) -> Family<M> {
        precondition(Self.isName(name), "not a metric name: \(name)")
        precondition(labels.allSatisfy(Self.isLabel), "not label names: \(labels)")
        return families.withLock { families in
            if let known = families[name] {
                // Two parts may share a family, if they mean the same by it.
                guard let same = known as? Family<M>, same.labels == labels else {
                    preconditionFailure("\(name) is registered as something else")
                }
                return same
            }
            precondition(families.count < Self.familiesMax, "families are named in code")
            let family = Family(name: name, help: help, labels: labels, make: make)
            families[name] = family
            return family
        }
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.first.map { !isDigit($0) } == true
            && name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: ":") }
    }

    private static func isLabel(_ name: String) -> Bool {
        isName(name) && !name.contains(":") && !name.hasPrefix("__") && name != "le"
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
            || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
