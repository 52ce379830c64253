// Random numbers from a seed, the same on every machine: splitmix64 (Sebastiano Vigna, public
// domain). Passed `inout`; nothing in a stream may come from anywhere else.

struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// True with this probability.
    mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) / Double(1 << 53) < probability
    }

    /// A number of the range.
    mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// A number of the range.
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int(number(Int64(range.lowerBound)...Int64(range.upperBound)))
    }

    /// One of the elements, of which there must be one.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(0...elements.count - 1)]
    }
}
