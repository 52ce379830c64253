// Tests that need a real broker, and what becomes of them where there is none.
import Foundation
import Synchronization
package import Testing

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where no Kafka can be started, and counts it.
    package static var needsKafka: Self {
        .enabled(KafkaFixture.obstacle.map { Comment(rawValue: $0) }) {
            if KafkaFixture.obstacle == nil { return true }
            LeftOut.count.add(1, ordering: .relaxed)
            LeftOut.announceAtExit
            return false
        }
    }

    /// Left out, and said, unless they are asked for: they wait for sessions and time-outs of real
    /// brokers, and take longer than all others together.
    package static var needsKafkaStages: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["ADBRAKE_KAFKA_STAGES"] != nil,
            "ADBRAKE_KAFKA_STAGES=1 runs the tests of whole stages on Kafka")
    }
}

/// How many tests were left out; said in the last line.
private enum LeftOut {
    static let count = Atomic<Int>(0)

    static let announceAtExit: Void = {
        atexit {
            let count = LeftOut.count.load(ordering: .relaxed)
            print("\(count) tests on Kafka left out: \(KafkaFixture.obstacle ?? "")")
        }
    }()
}
