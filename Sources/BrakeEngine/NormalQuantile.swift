// The quantile of the normal distribution that a policy's confidence asks for.

enum NormalQuantile {
    /// z such that a normal variable lies within -z ... z with this probability, 0 ..< 1.
    ///
    /// Newton's method on the distribution function, which is summed by the series of
    /// G. Marsaglia, "Evaluating the Normal Distribution" (2004). 0.95, by far the most used, is
    /// given as the literal that other implementations use, to the last bit.
    static func twoSided(confidence: Double) -> Double {
        precondition(confidence >= 0 && confidence < 1, "a confidence lies within 0 ..< 1")
        if confidence == 0.95 { return 1.959963984540054 }
        let target = confidence / 2
        var z = 1.0
        for _ in 0..<60 {
            let density = density(at: z)
            let step = (area(to: z, density: density) - target) / density
            // A long step would leave the range in which the series is exact.
            z = max(0, z - min(max(step, -0.5), 0.5))
            if abs(step) < 1e-15 { break }
        }
        return z
    }

    /// The area under the density between 0 and z.
    private static func area(to z: Double, density: Double) -> Double {
        var sum = z
        var term = z
        var divisor = 3.0
        while term > sum * 1e-18, divisor < 1_000 {
            term *= z * z / divisor
            sum += term
            divisor += 2
        }
        return sum * density
    }

    private static func density(at z: Double) -> Double {
        0.3989422804014327 * exponential(-z * z / 2)
    }

    /// e to the power of x, for x <= 0: a power of two times the series of the rest.
    private static func exponential(_ x: Double) -> Double {
        let ln2 = 0.6931471805599453
        let exponent = (x / ln2).rounded()
        let rest = x - exponent * ln2
        var sum = 1.0
        var term = 1.0
        for index in 1...20 {
            term *= rest / Double(index)
            sum += term
        }
        return Double(sign: .plus, exponent: Int(exponent), significand: sum)
    }
}
