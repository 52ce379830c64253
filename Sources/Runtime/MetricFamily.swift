// A named metric and its series, one for each combination of label values.
import Synchronization

/// What a family of any kind can do.
protocol MetricFamily: Sendable {
    var name: String { get }
    func render(into text: inout String)
}

/// One number or histogram.
package protocol Metric: AnyObject, Sendable {
    /// The word after `# TYPE name`.
    static var kind: String { get }
    /// Appends its lines; `labels` is `{a="b"}` or empty.
    func render(name: String, labels: LabelText, into text: inout String)
}

/// A metric with labels. Look a series up once where the labels are known in advance.
package final class Family<M: Metric>: MetricFamily {
    let name: String
    let labels: [String]
    private let help: String
    private let make: @Sendable () -> M
    private let series = Mutex<[[String]: M]>([:])

    init(name: String, help: String, labels: [String], make: @escaping @Sendable () -> M) {
        self.name = name
        self.help = help
        self.labels = labels
        self.make = make
    }

    /// The series with these label values, in the order of the label names. Past the limit all new
    /// combinations share one series whose labels are all `other`.
    package func series(_ values: [String]) -> M {
        precondition(values.count == labels.count, "\(name) has the labels \(labels)")
        return series.withLock { series in
            if let known = series[values] { return known }
            let isFull = series.count >= Metrics.seriesMax
            let values = isFull ? labels.map { _ in "other" } : values
            if let known = series[values] { return known }
            let made = make()
            series[values] = made
            return made
        }
    }

    package func series(_ values: String...) -> M { series(values) }

    func render(into text: inout String) {
        let series = series.withLock { $0.sorted { $0.key.lexicographicallyPrecedes($1.key) } }
        text += "# HELP \(name) \(LabelText.escaped(help, quotes: false))\n"
        text += "# TYPE \(name) \(M.kind)\n"
        for (values, metric) in series {
            metric.render(
                name: name, labels: LabelText(names: labels, values: values), into: &text)
        }
    }
}

/// The labels of a series as text.
package struct LabelText: Sendable {
    private let pairs: String

    init(names: [String], values: [String]) {
        pairs = zip(names, values)
            .map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            .joined(separator: ",")
    }

    /// `{a="b"}`, or nothing without labels.
    var text: String { pairs.isEmpty ? "" : "{\(pairs)}" }

    /// The same and the upper bound of a bucket.
    func text(upTo bound: String) -> String {
        "{\(pairs.isEmpty ? "" : pairs + ",")le=\"\(bound)\"}"
    }

    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// A number as Prometheus reads it.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        let whole = Int64(exactly: value)
        return whole.map(String.init) ?? String(value)
    }
}
