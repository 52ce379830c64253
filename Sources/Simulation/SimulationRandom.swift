// Random numbers from a seed, the same on every machine: splitmix64 (Sebastiano Vigna, public
// domain). Passed `inout`; nothing in a simulation may come from anywhere else.

package struct SimulationRandom: Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Another generator, whose numbers do not depend on how many are taken from this one later.
    package mutating func split() -> SimulationRandom { SimulationRandom(seed: next()) }

    /// True with this probability.
    package mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) / Double(1 << 53) < probability
    }

    /// A number of the range.
    package mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        let span = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int64(next().multipliedFullWidth(by: span).high)
    }

    /// A number of the range.
    package mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int(number(Int64(range.lowerBound)...Int64(range.upperBound)))
    }

    /// One of the elements, of which there must be one.
    package mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(0...elements.count - 1)]
    }
}
