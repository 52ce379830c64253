// Quantiles and intervals against values from tables.

import Testing

@testable import BrakeEngine

@Suite struct StatisticsTests {
    @Test(
        "quantiles as tables have them",
        arguments: [
            (0.5, 0.6744897501960817), (0.8, 1.2815515655446004), (0.9, 1.6448536269514722),
            (0.95, 1.959963984540054), (0.99, 2.5758293035489004), (0.999, 3.290526731491926),
            (0.0, 0.0),
        ])
    func quantile(confidence: Double, expected: Double) {
        #expect(abs(NormalQuantile.twoSided(confidence: confidence) - expected) < 1e-12)
    }

    @Test("the interval of 5 in 50 at 95 %")
    func wilson() throws {
        let interval = try #require(WilsonInterval(count: 5, of: 50, quantile: 1.959963984540054))
        #expect(abs(interval.low - 0.043475) < 1e-6)
        #expect(abs(interval.high - 0.213602) < 1e-6)
        #expect(WilsonInterval(count: 0, of: 0, quantile: 1.96) == nil)
    }

    @Test("a rate that equals a limit in decimals is not below it")
    func rateAtLimit() {
        for sessions in 1...3_000 {
            for (limit, bad) in [(0.99, sessions / 100), (0.997, sessions * 3 / 1_000)]
            where bad * 1_000 == sessions * (limit == 0.99 ? 10 : 3) {
                let counts = RateCounts(sessions: sessions, bad: bad)
                let rate = Judgement.rate(counts, counting: .sessions)
                #expect(rate == limit, "\(bad) of \(sessions)")
            }
        }
    }
}
