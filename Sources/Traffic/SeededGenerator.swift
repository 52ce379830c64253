// What a fleet draws from seeded numbers; the generator is passed `inout`.
import BrakeModel
import Glibc

extension SeededGenerator {
    /// A number from 0 to below 1.
    mutating func fraction() -> Double {
        Double(next() >> 11) / Double(1 << 53)
    }

    /// True with this probability.
    mutating func chance(_ probability: Double) -> Bool {
        probability > 0 && fraction() < probability
    }

    /// A number of the range.
    mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        let span = UInt64(range.upperBound - range.lowerBound) + 1
        // The high half of a product spreads evenly enough over ranges far below 2^64.
        return range.lowerBound + Int64(next().multipliedFullWidth(by: span).high)
    }

    /// 0 ..< count.
    mutating func index(_ count: Int) -> Int {
        precondition(count > 0, "there is something to pick from")
        return Int(next().multipliedFullWidth(by: UInt64(count)).high)
    }

    /// A waiting time of this mean, as between independent events.
    mutating func waitingTime(mean: Double) -> Double {
        -log(1 - fraction()) * mean
    }
}
