// What failed transactions may have left open, and what of it is closed before the next.
import CRdKafka
import EventLog
import KafkaTestSupport
import LogTestSupport
import Testing

@testable import KafkaLog

@Suite("What a failed transaction may have left open")
struct LeftoversTests {
    private static let one = TopicPartition(.epoch, 0)
    private static let other = TopicPartition(.throttle, 1)

    private static func failed() -> Leftovers {
        var leftovers = Leftovers()
        leftovers.add([.init(.epoch, 0, "a"), .init(.epoch, 0, "b"), .init(.throttle, 1, "c")])
        return leftovers
    }

    @Test("is looked for where an attempt has written that failed, until one has succeeded")
    func places() {
        var leftovers = Self.failed()
        #expect(Leftovers().isEmpty && !leftovers.isEmpty)
        #expect(leftovers.places == [Self.one, Self.other].sorted())
        leftovers.add(committed: [Self.one: 5])
        #expect(leftovers.isEmpty && leftovers.places.isEmpty)
    }

    @Test("is open where committed readers end before all others do")
    func open() {
        let leftovers = Self.failed()
        let ends = [Self.one: Int64(7), Self.other: 9]
        #expect(leftovers.open(stable: ends, ends: ends).isEmpty)
        let open = leftovers.open(stable: [Self.one: 5, Self.other: 9], ends: ends)
        #expect(open.map(\.value) == [Array("b".utf8)])
        #expect(leftovers.open(stable: [:], ends: ends).isEmpty)
    }

    @Test("is left alone where the marker of a commit is missing")
    func missingMarker() {
        var leftovers = Leftovers()
        leftovers.add(committed: [Self.one: 5])
        leftovers.add([.init(.epoch, 0, "a"), .init(.throttle, 1, "c")])
        let ends = [Self.one: Int64(6), Self.other: 1]
        #expect(
            leftovers.open(stable: [Self.one: 4, Self.other: 0], ends: ends).map(\.topic)
                == [.throttle])
        #expect(leftovers.open(stable: [Self.one: 5, Self.other: 1], ends: ends).count == 1)
    }

    /// A doubt of generation 3 about positions of two partitions.
    private static func doubted() -> Leftovers {
        var leftovers = Leftovers()
        leftovers.add(
            Leftovers.Doubt(
                outputs: [.init(.epoch, 0, "a"), .init(.throttle, 1, "c")],
                positions: [TopicPartition(.session, 0), TopicPartition(.session, 1)],
                note: CommitNote(generation: 3, attempt: 8)))
        return leftovers
    }

    @Test("of an attempt in doubt is what the committed notes do not speak of")
    func doubtFailed() {
        for before in [nil, CommitNote(generation: 3, attempt: 7)] {
            var leftovers = Self.doubted()
            #expect(!leftovers.isEmpty && leftovers.places.isEmpty)
            #expect(leftovers.doubtful.count == 2)
            leftovers.settle(by: before.map { [TopicPartition(.session, 0): $0] } ?? [:])
            #expect(leftovers.places == [Self.one, Self.other].sorted())
            #expect(leftovers.doubtful.isEmpty)
        }
    }

    @Test("of an attempt in doubt is nothing once it took effect, or others have committed")
    func doubtSettled() {
        let notes = [
            CommitNote(generation: 3, attempt: 8), CommitNote(generation: 4, attempt: 1),
        ]
        for note in notes {
            var leftovers = Self.doubted()
            leftovers.settle(by: [TopicPartition(.session, 1): note])
            #expect(leftovers.isEmpty)
        }
    }

    @Test("is known to the next worker of the lane, and to no other")
    func store() {
        let store = LeftoverStore()
        store.keep(Self.failed(), lane: 2)
        #expect(store.take(lane: 1).isEmpty)
        #expect(store.take(lane: 2).places == [Self.one, Self.other].sorted())
        #expect(store.take(lane: 2).isEmpty)
    }

    @Test("is known to the next worker although one before it could not begin")
    func failedWorker() throws {
        let cluster = try MockCluster()
        let inquiry = try ClusterInquiry(cluster.settings)
        defer { inquiry.close() }
        let store = LeftoverStore()
        store.keep(Self.failed(), lane: 0)
        cluster.fail(.initProducer, [RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED])
        _ = try fault {
            _ = try KafkaWorker(
                cluster.settings, inquiry, Interruption(), partitions: 4, lane: 0, store)
        }
        #expect(store.take(lane: 0).places == [Self.one, Self.other].sorted())
    }
}
