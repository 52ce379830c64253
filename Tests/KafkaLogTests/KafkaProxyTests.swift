// What is lost, late or wrong on the way between clients and a real broker.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Runtime
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A log on Kafka, through a bad network")
    struct ProxyTests {
        /// Topics of a log, a log that goes by the proxy, and one that does not.
        func withProxy(
            partitions: Int = 4, _ change: (inout KafkaSettings) -> Void = { _ in },
            judge: @escaping @Sendable (KafkaProxy.Message) -> KafkaProxy.Fate,
            _ body: (_ disturbed: KafkaLog, _ direct: KafkaLog) throws -> Void
        ) async throws {
            try await withKafka(partitions: partitions, .alone, change) { direct, settings in
                let proxy = try KafkaProxy(try KafkaFixture.shared.get(), judge: judge)
                defer { proxy.close() }
                var settings = settings
                settings.bootstrap = proxy.bootstrap
                let disturbed = try KafkaLog(settings)
                defer { disturbed.close() }
                try body(disturbed, direct)
            }
        }

        @Test("has an epoch once although the answer to its commit is lost", .needsKafka)
        func lostAnswer() async throws {
            let losses = Losses(2)
            try await withProxy { message in
                let isCommit = message.isAnswer && message.kind == KafkaProxy.endTransaction
                return isCommit && losses.takesOne() ? .lose : .pass
            } _: { log, direct in
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                _ = try worker.nextChange()
                let place = TopicPartition(.session, 0)
                losses.begin()
                for number in 0..<5 {
                    let outputs: [OutgoingRecord] = [
                        .init(.epoch, 0, "\(number)"), .init(.throttle, 0, "\(number)"),
                    ]
                    try worker.commitPatiently(outputs, positions: [place: Int64(number)])
                }
                #expect(losses.taken == 2)
                let expected = (0..<5).map { "\($0)" }
                #expect(try direct.readAll(.epoch, 0) == expected)
                #expect(try direct.readAll(.throttle, 0) == expected)
                #expect(try worker.committedPositions(partition: 0) == [place: 4])
            }
        }

        /// The old one is cut off at the moment at which it asks for the end of its transaction,
        /// and heard again when another has its partitions: in its lane, or in another one.
        @Test(
            "has nothing of a commit that comes late, after another took over", .needsKafka,
            arguments: [0, 1])
        func lateCommit(lane: Int) async throws {
            let gate = Gate()
            try await withProxy {
                $0.properties = [
                    "session.timeout.ms": "2000", "heartbeat.interval.ms": "300",
                    "transaction.timeout.ms": "3000",
                ]
            } judge: { message in
                if !message.isAnswer, message.kind == KafkaProxy.endTransaction { gate.close() }
                gate.wait()
                return .pass
            } _: { log, direct in
                let place = TopicPartition(.session, 0)
                let ending = Monitor<String?>(nil)
                let committing = Thread {
                    do {
                        let old = try log.makeWorker(lane: 0)
                        defer { old.close() }
                        _ = try old.nextChange()
                        gate.begin()
                        _ = try old.commit([.init(.epoch, 0, "old")], positions: [place: 1])
                        ending.withLock { $0 = "committed" }
                    } catch {
                        ending.withLock { $0 = "\(error)" }
                    }
                }
                committing.start()
                let hasAsked = gate.waitUntilClosed()
                try #require(hasAsked == true)
                let new = try direct.makeWorker(lane: lane)
                defer { new.close() }
                #expect(try new.nextChange() == .assigned([0, 1, 2, 3]))
                #expect(try new.committedPositions(partition: 0) == [:])
                gate.open()
                let told = ending.wait(milliseconds: 60_000) { $0 }
                #expect(told != nil && told != "committed", "\(told ?? "nothing")")
                try new.commitPatiently([.init(.epoch, 0, "new")], positions: [place: 2])
                #expect(try new.committedPositions(partition: 0) == [place: 2])
                #expect(try direct.readAll(.epoch, 0) == ["new"])
            }
        }

        /// What a broker does that has just been given a partition: it refuses the first batch, and
        /// takes the second, since any first batch of a producer it does not know is good for it.
        @Test(
            "does not take a refused batch for appended because the next one was", .needsKafka)
        func refusedBatch() async throws {
            let refusal = RefusedBatch()
            try await withProxy(partitions: 1) {
                refusal.judge($0)
            } _: { log, direct in
                try direct.appendFirst(.session)
                let texts = RefusedBatch.texts
                let doubtful = try fault {
                    try log.append(texts.map { .init(.session, 0, $0) })
                }
                #expect(refusal.isDone)
                #expect(doubtful.remedy == .retry && doubtful.reason.contains("no offset"))
                let before = try direct.readAll(.session, 0).dropFirst()
                #expect(before.count < texts.count, "the broker has refused one of them")
                try log.append([.init(.session, 0, "next")])
                #expect(try direct.readAll(.session, 0).last == "next")
            }
        }

        @Test("commits nothing of which a batch was refused and the next one taken", .needsKafka)
        func refusedBatchInTransaction() async throws {
            let refusal = RefusedBatch()
            try await withProxy(partitions: 1) {
                refusal.judge($0)
            } _: { log, direct in
                try direct.appendFirst(.epoch)
                let worker = try log.makeWorker(lane: 0)
                defer { worker.close() }
                _ = try worker.nextChange()
                let texts = RefusedBatch.texts
                _ = try worker.commit(
                    texts.map { .init(.epoch, 0, $0) },
                    positions: [TopicPartition(.session, 0): 1])
                #expect(refusal.isDone)
                #expect(try direct.readAll(.epoch, 0) == ["first"] + texts)
            }
        }

        @Test("takes no earlier end for the end, when the brokers tell of one once", .needsKafka)
        func earlierEnd() async throws {
            // An end that is easy to find in an answer.
            let lies = FalseEnds(truth: 777, lie: 300)
            try await withProxy(partitions: 1) {
                lies.judge($0)
            } _: { log, direct in
                try direct.append((0..<777).map { .init(.crash, 0, "\($0)") })
                let place = TopicPartition(.crash, 0)
                // It stands where the lie says that the end is.
                let reader = try log.makeReader(from: [place: 300])
                defer { reader.close() }
                reader.held = [place]
                let batch = LogBatch(bytesMax: 10_000)
                _ = try eventually("the true end is known") { () -> Bool? in
                    _ = try reader.poll(into: batch, waitMilliseconds: 20)
                    return lies.answers >= 2 ? true : nil
                }
                lies.begin()
                _ = try eventually("a lie") { () -> Bool? in
                    _ = try reader.poll(into: batch, waitMilliseconds: 20)
                    return lies.told > 0 ? true : nil
                }
                reader.held = []
                var values: [String?] = []
                _ = try eventually("the end") { () -> Bool? in
                    let outcome = try reader.poll(into: batch, waitMilliseconds: 20)
                    values += batch.values
                    return outcome.ended.contains(place) ? true : nil
                }
                #expect(values == (300..<777).map { "\($0)" })
            }
        }
    }
}

extension KafkaLog {
    /// A broker refuses whatever comes before it has heard that it leads a partition that was just
    /// made. Once it has taken a record it refuses only what the test wants it to refuse.
    fileprivate func appendFirst(_ topic: Topic) throws {
        try append([.init(topic, 0, "first")])
    }
}

/// Lets so many of something happen, once begun.
private final class Losses: Sendable {
    private struct State {
        var left: Int
        var taken = 0
        var hasBegun = false
    }

    private let state: Monitor<State>

    init(_ count: Int) { state = Monitor(State(left: count)) }

    var taken: Int { state.read { $0.taken } }

    func begin() { state.withLock { $0.hasBegun = true } }

    func takesOne() -> Bool {
        state.withLock { state in
            guard state.hasBegun, state.left > 0 else { return false }
            state.left -= 1
            state.taken += 1
            return true
        }
    }
}

/// Lets nothing through from the first time it is closed, once begun, until it is opened.
private final class Gate: Sendable {
    private enum State {
        case idle, begun, closed, open
    }

    private let state = Monitor(State.idle)

    func begin() { state.withLock { $0 = .begun } }
    func close() { state.withLock { if $0 == .begun { $0 = .closed } } }
    func open() { state.withLock { $0 = .open } }

    func wait() { _ = state.wait(milliseconds: 60_000) { $0 == .closed ? nil : true } }
    func waitUntilClosed() -> Bool? {
        state.wait(milliseconds: 60_000) { $0 == .closed ? true : nil }
    }
}

/// Makes one answer about ends tell of an earlier one.
private final class FalseEnds: Sendable {
    private struct State {
        var answers = 0
        var told = 0
        var isLying = false
    }

    private let truth: [UInt8]
    private let lie: [UInt8]
    private let state = Monitor(State())

    init(truth: Int64, lie: Int64) {
        func bytes(_ number: Int64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
        }
        self.truth = bytes(truth)
        self.lie = bytes(lie)
    }

    var answers: Int { state.read { $0.answers } }
    var told: Int { state.read { $0.told } }

    func begin() { state.withLock { $0.isLying = true } }

    func judge(_ message: KafkaProxy.Message) -> KafkaProxy.Fate {
        guard message.isAnswer, message.kind == KafkaProxy.listOffsets else { return .pass }
        var bytes = message.bytes
        guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: truth) }) else {
            return .pass
        }
        return state.withLock { state in
            state.answers += 1
            guard state.isLying else { return .pass }
            state.isLying = false
            state.told += 1
            bytes.replaceSubrange(place..<place + 8, with: lie)
            return .change(bytes)
        }
    }
}

/// Lets the broker refuse the first batch that it is sent, when the second is on its way already.
private final class RefusedBatch: Sendable {
    /// Each fills a batch.
    static let texts = (0..<3).map { "\($0)" + String(repeating: "x", count: 600_000) }

    private let requests = Monitor(0)

    var isDone: Bool { requests.read { $0 > 1 } }

    func judge(_ message: KafkaProxy.Message) -> KafkaProxy.Fate {
        guard message.kind == KafkaProxy.produce else { return .pass }
        if message.isAnswer {
            _ = requests.wait(milliseconds: 60_000) { $0 > 1 ? true : nil }
            return .pass
        }
        let number = requests.withLock { requests in
            requests += 1
            return requests
        }
        return number == 1 ? .change(Self.misdirected(message.bytes)) : .pass
    }

    /// The request with a partition that does not exist.
    private static func misdirected(_ request: [UInt8]) -> [UInt8] {
        let version = KafkaProxy.integer(request, at: 2, bytes: 2)
        let names = [Topic.session, .epoch].map { Array($0.name.utf8) }
        for start in request.indices.prefix(512) {
            guard let name = names.first(where: { request[start...].starts(with: $0) }) else {
                continue
            }
            // How many partitions there are comes between, since version 9 as one byte.
            let partition = start + name.count + (version < 9 ? 4 : 1)
            var bytes = request
            bytes.replaceSubrange(partition..<partition + 4, with: [0, 0, 0x7f, 0xff])
            return bytes
        }
        return request
    }
}
