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
