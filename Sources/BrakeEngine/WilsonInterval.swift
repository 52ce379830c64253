// How far a rate can be trusted, given the size of its sample.

/// The score interval of a proportion.
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927),
/// without continuity correction. Only the four operations and the square root are used, which
/// IEEE 754 rounds alike everywhere, so every machine decides the same.
package struct WilsonInterval: Equatable {
    package var low: Double
    package var high: Double

    /// The interval of `count` out of `total`, nil for an empty sample.
    package init?(count: Int, of total: Int, quantile z: Double) {
        guard total > 0 else { return nil }
        let n = Double(total)
        let p = Double(min(max(count, 0), total)) / n
        let z2 = z * z
        let center = p + z2 / (2 * n)
        let spread = z * (p * (1 - p) / n + z2 / (4 * n * n)).squareRoot()
        let scale = 1 + z2 / n
        low = max(0, (center - spread) / scale)
        high = min(1, (center + spread) / scale)
    }
}
