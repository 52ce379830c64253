// Counter, gauge, histogram: safe from any thread, without a lock or with one held for an addition.
import Synchronization

/// Only rises.
package final class Counter: Metric {
    package static let kind = "counter"
    private let count = Atomic<Int>(0)

    package var value: Int { count.load(ordering: .relaxed) }

    package func add(_ more: Int = 1) {
        precondition(more >= 0, "a counter only rises")
        count.wrappingAdd(more, ordering: .relaxed)
    }

    package func render(name: String, labels: LabelText, into text: inout String) {
        text += "\(name)\(labels.text) \(value)\n"
    }
}

extension Family where M == Counter {
    /// Adds to the series with these label values.
    package func add(_ more: Int = 1, _ values: String...) { series(values).add(more) }
}

/// Goes up and down.
package final class Gauge: Metric {
    package static let kind = "gauge"
    private let bits = Atomic<UInt64>(Double(0).bitPattern)

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    package func set(_ value: Int) { set(Double(value)) }

    package func add(_ more: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let sum = (Double(bitPattern: seen) + more).bitPattern
            let (exchanged, now) = bits.weakCompareExchange(
                expected: seen, desired: sum, ordering: .relaxed)
            if exchanged { return }
            seen = now
        }
    }

    package func render(name: String, labels: LabelText, into text: inout String) {
        text += "\(name)\(labels.text) \(LabelText.number(value))\n"
    }
}

extension Family where M == Gauge {
    /// Sets the series with these label values.
    package func set(_ value: Double, _ values: String...) { series(values).set(value) }
    package func set(_ value: Int, _ values: String...) { series(values).set(value) }
}

/// A gauge that asks when it is read.
package final class ReadGauge: Metric {
    package static let kind = "gauge"
    private let read: @Sendable () -> Double

    init(_ read: @escaping @Sendable () -> Double) { self.read = read }

    package func render(name: String, labels: LabelText, into text: inout String) {
        text += "\(name)\(labels.text) \(LabelText.number(read()))\n"
    }
}

/// Counts observations by upper bound.
package final class Histogram: Metric {
    package static let kind = "histogram"

    /// For latencies: half a ms to 30 s.
    package static let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    /// For sizes in bytes or records: 1 to about a million.
    package static let sizes: [Double] = [
        1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576,
    ]

    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    package var count: Int { state.withLock { $0.counts.reduce(0, +) } }
    package var sum: Double { state.withLock { $0.sum } }

    /// O(number of bounds).
    package func observe(_ value: Double) {
        // What is no number is in no bucket; the last one keeps it in the count.
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value.isFinite ? value : 0
        }
    }

    package func render(name: String, labels: LabelText, into text: inout String) {
        let state = state.withLock { $0 }
        var total = 0
        for (bound, count) in zip(bounds, state.counts) {
            total += count
            text += "\(name)_bucket\(labels.text(upTo: LabelText.number(bound))) \(total)\n"
        }
        total += state.counts[bounds.count]
        text += "\(name)_bucket\(labels.text(upTo: "+Inf")) \(total)\n"
        text += "\(name)_sum\(labels.text) \(LabelText.number(state.sum))\n"
        text += "\(name)_count\(labels.text) \(total)\n"
    }
}

extension Family where M == Histogram {
    /// Observes in the series with these label values.
    package func observe(_ value: Double, _ values: String...) { series(values).observe(value) }
}
