// Random numbers from a seed: splitmix64 (Sebastiano Vigna, public domain), passed `inout`.
import Glibc

struct SeededGenerator: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mixed(state)
    }

    /// Scrambles a number; one to one, so distinct numbers stay distinct.
    static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

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
