// What failed transactions may have left open, and what of it is closed before the next.
import EventLog
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
}
