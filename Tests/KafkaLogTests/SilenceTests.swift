// When polls say that the log is out of reach.
import Testing

@testable import KafkaLog

@Suite("The silence of a log on Kafka")
struct SilenceTests {
    private func isTooLong(_ questions: [Int64]) -> Bool {
        var silence = Silence()
        for time in questions { silence.grow(at: time) }
        return silence.isTooLong
    }

    @Test("is too long after ten seconds of questions without an answer")
    func tooLong() {
        #expect(!isTooLong([]))
        #expect(!isTooLong((0..<10).map { 5_000 + $0 * 1_000 }))
        #expect(isTooLong((0...10).map { 5_000 + $0 * 1_000 }))
    }

    @Test("is not too long because nothing was asked for a while")
    func nothingAsked() {
        #expect(!isTooLong([0, 11_000]))
        #expect(!isTooLong([0, 11_000, 12_000, 13_000]))
        #expect(isTooLong([0, 11_000, 12_000, 13_000, 14_000]))
    }
}
