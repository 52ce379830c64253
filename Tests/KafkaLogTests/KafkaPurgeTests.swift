// What the library throws away of a transaction that is aborted, and the broker has all the same.
import EventLog
import KafkaTestSupport
import LogTestSupport
import Runtime
import Testing

@testable import KafkaLog

extension KafkaTests.ProxyTests {
    /// librdkafka gives the number of a record that it throws away to the next one, although the
    /// broker may have the record: then it takes the next one for the same, and says "written".
    @Test("commits what it has written again after an abort, not what was aborted", .needsKafka)
    func purgedRecord() async throws {
        let broker = DyingBroker()
        try await withProxy(partitions: 1) {
            broker.judge($0)
        } _: { log, direct in
            let worker = try log.makeWorker(lane: 0)
            defer { worker.close() }
            _ = try worker.nextChange()
            for number in 0..<3 {
                if number == 1 { broker.begin() }
                try worker.commitPatiently(
                    [.init(.epoch, 0, "\(number)")],
                    positions: [TopicPartition(.session, 0): Int64(number)]
                ) { fault in
                    print("given back: \(fault)")
                    broker.revive()
                }
            }
            #expect(broker.isBack)
            #expect(try direct.readAll(.epoch, 0) == ["0", "1", "2"])
        }
    }
}

/// Takes a batch and dies before it can say so; is back when the transaction is to be ended, or
/// has failed.
private final class DyingBroker: Sendable {
    private enum State {
        case well, begun, dead, back
    }

    private let state = Monitor(State.well)

    var isBack: Bool { state.read { $0 == .back } }

    func begin() { state.withLock { $0 = .begun } }

    func revive() { state.withLock { if $0 == .dead { $0 = .back } } }

    func judge(_ message: KafkaProxy.Message) -> KafkaProxy.Fate {
        state.withLock { state in
            switch (state, message.kind) {
            case (.begun, KafkaProxy.produce) where message.isAnswer:
                state = .dead
                return .cut
            case (.dead, KafkaProxy.produce), (.dead, KafkaProxy.versions): return .cut
            case (.dead, KafkaProxy.endTransaction):
                state = .back
                return .pass
            default: return .pass
            }
        }
    }
}
