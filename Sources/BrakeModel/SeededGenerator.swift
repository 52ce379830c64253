// Random numbers from a seed, the same on every machine: splitmix64 (Steele, Lea and Flood 2014;
// Sebastiano Vigna, public domain).

/// A generator whose numbers follow from its seed alone: for fleets, simulations, benchmarks and
/// tests. Not for secrets, and not for what decides: an evaluator knows no chance.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline package var state: UInt64

    @inlinable package init(seed: UInt64) { state = seed }

    @inlinable package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mixed(state)
    }

    /// Scrambles a number; one to one, so distinct numbers stay distinct.
    @inlinable package static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
