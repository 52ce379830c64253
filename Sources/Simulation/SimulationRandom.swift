// Random numbers from a seed, passed `inout`; nothing in a simulation may come from anywhere else.

import BrakeModel

package struct SimulationRandom: Sendable {
    private var source: SeededGenerator

    package init(seed: UInt64) { source = SeededGenerator(seed: seed) }

    package mutating func next() -> UInt64 { source.next() }

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
