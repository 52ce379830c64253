// What an event means, what is refused, and that neighbours survive.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct EventDecoderTests {
    private static let append: Int64 = 1_700_000_000_000

    @Test(arguments: [
        (#"{"type":"session","app":"a"}"#, EventMeaning.start),
        (#"{"type":"session","app":"a","phase":null,"foreground":null}"#, .start),
        (#"{"type":"session","app":"a","phase":"start","foreground":false}"#, .nothing),
        (#"{"type":"session","app":"a","phase":"alive","foreground":false}"#, .alive),
        (#"{"type":"session","app":"a","phase":"end"}"#, .nothing),
        (#"{"type":"session","app":"a","phase":"paused"}"#, .nothing),
        (#"{"type":"crash","app":"a"}"#, .crash),
        (#"{"type":"crash","app":"a","fatal":true,"kind":"meteor"}"#, .crash),
        (#"{"type":"crash","app":"a","fatal":false}"#, .nothing),
        (#"{"type":"soft_error","app":"a"}"#, .softError),
        (#"{"type":"soft_error","app":"a","signal":"quit_after_ad"}"#, .signal),
        (#"{"type":"soft_error","app":"a","signal":"yawn"}"#, .softError),
        (#"{"type":"ad_event","app":"a"}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"shown"}"#, .impression),
        (#"{"type":"ad_event","app":"a","event":"clicked"}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"clicked","dismiss_delay_ms":1}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"dismissed"}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"dismissed","dismiss_delay_ms":-1}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"dismissed","dismiss_delay_ms":"1"}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"dismissed","dismiss_delay_ms":0}"#, .dismissal),
        (#"{"type":"ad_event","app":"a","event":"load_failed"}"#, .adFailure),
        (#"{"type":"ad_event","app":"a","event":"show_failed","error_code":"E17"}"#, .adFailure),
        (#"{"type":"ad_event","app":"a","event":"load_failed","error_code":2}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"load_failed","error_code":"3"}"#, .nothing),
        (
            #"{"type":"ad_event","app":"a","event":"load_failed","error_code":3,"os":"iOS 18"}"#,
            .adFailure
        ),
        (
            #"{"type":"ad_event","app":"a","event":"load_failed","error_code":1,"os":"iOS 18"}"#,
            .nothing
        ),
        (
            #"{"type":"ad_event","app":"a","event":"load_failed","error_code":1,"os":"Android 15"}"#,
            .adFailure
        ),
        (#"{"type":"ad_event","app":"a","event":"load_failed","error_code":"NO_FILL"}"#, .nothing),
        (#"{"type":"ad_event","app":"a","event":"load_failed","error_code":"offline"}"#, .nothing),
    ])
    func `an event means what its fields say`(record: String, meaning: EventMeaning) throws {
        let decoded = Decoded(record)
        #expect(decoded.rejected == [])
        #expect(try #require(decoded.events.first).meaning == meaning)
    }

    @Test(arguments: [
        ("crash", "", true, true), ("crash", #","fatal":false"#, false, false),
        ("session", "", false, true), ("session", #","phase":"alive""#, false, false),
        ("ad_event", #","event":"shown""#, false, false), ("soft_error", "", false, false),
    ])
    func `ids by which something is counted once become hashes`(
        type: String, rest: String, hasID: Bool, hasSession: Bool
    ) throws {
        let record = #"{"type":"\#(type)","app":"a","id":"i","session":"s","device":"d"\#(rest)}"#
        let event = try #require(Decoded(record).events.first)
        #expect(event.idHash == (hasID ? StableHash.of("i") : 0))
        #expect(event.sessionHash == (hasSession ? StableHash.of("s") : 0))
        let all = EventDecoder(hashing: .all)
        let other = try #require(Decoded(Array(record.utf8), with: all).events.first)
        #expect(other.idHash == StableHash.of("i"))
        #expect(other.sessionHash == StableHash.of("s"))
    }

    @Test func `texts become the hashes of their unescaped bytes, absent ones zero`() throws {
        let record =
            #"{"type":"crash","app":"a.b","id":"\u0065\u00e9\ud83d\ude00","session":"s","#
            + #""device":"","session_at":1699999999000,"at":1699999999500,"sent":1700000000001}"#
        let event = try #require(Decoded(record).events.first)
        #expect(event.appHash == StableHash.of("a.b"))
        #expect(event.idHash == StableHash.of("eé😀"))
        #expect(event.sessionHash == StableHash.of("s"))
        #expect(event.deviceHash == 0)
        #expect(event.append == Self.append)
        #expect(event.at == 1_699_999_999_500)
        #expect(event.sent == 1_700_000_000_001)
        #expect(event.sessionAt == 1_699_999_999_000)
        #expect(event.convertedTimes == 0)
    }

    @Test(arguments: [
        (#""country":"de","dismiss_delay_ms":2350.9"#, "DE", Int64(2_350)),
        (#""country":"XX","dismiss_delay_ms":1e300"#, nil, 600_000),
        (#""country":7,"dismiss_delay_ms":18446744073709551615"#, nil, 600_000),
        (#""country":"D1","dismiss_delay_ms":0"#, nil, 0),
        (#""country":null,"dismiss_delay_ms":1"#, nil, 1), (#""dismiss_delay_ms":9"#, nil, 9),
    ])
    func `a dismissal tells where and how late, as far as it is sound`(
        fields: String, country: String?, delay: Int64
    ) throws {
        let event = #"{"type":"ad_event","app":"a","device":"d","event":"dismissed",\#(fields)}"#
        let circumstances = try #require(Decoded(event).events.first).circumstances
        #expect(CountryCode(number: circumstances.country)?.text == country)
        #expect(circumstances.dismissMilliseconds == delay)
        let signal =
            #"{"type":"soft_error","app":"a","device":"d","signal":"slow_dismiss",\#(fields)}"#
        let told = try #require(Decoded(signal).events.first)
        #expect(CountryCode(number: told.circumstances.country)?.text == country)
        #expect(told.meaning == .signal)
    }

    @Test func `of equal keys the last one wins`() throws {
        let decoded = Decoded(#"{"type":"crash","app":"a","app":"b","type":"session"}"#)
        #expect(decoded.apps == ["b"])
        #expect(try #require(decoded.events.first).meaning == .start)
    }

    @Test(arguments: [
        ("", Rejection.empty), (" ", .badJSON), ("nul", .badJSON), ("null", .notAnObject),
        ("7", .notAnObject), (#""text""#, .notAnObject), ("{", .badJSON), ("[", .badJSON),
        ("{}", .unknownType), (#"{"type":"session","app":"a"} x"#, .badJSON),
        (#"{"type":"session","app":"a","x":tru}"#, .badJSON),
        (#"{"type":"session","app":"a","x":[1,]}"#, .badJSON),
        (#"{"type":"session","app":"a","x":01}"#, .badJSON),
        (#"{"type":"session","app":"a",}"#, .badJSON),
        (#"{"type":"session","app":"a","x":"\ud800"}"#, .badJSON),
        (#"{"type":"session","app":"a","x":"\udc00"}"#, .badJSON),
        (#"{"type":"session","app":"a","x":"\q"}"#, .badJSON),
        (#"{"app":"a"}"#, .unknownType), (#"{"type":"launch","app":"a"}"#, .unknownType),
        (#"{"type":5,"app":"a"}"#, .unknownType),
        (#"{"type":"session"}"#, .badApp), (#"{"type":"session","app":""}"#, .badApp),
        (#"{"type":"session","app":"a b"}"#, .badApp), (#"{"type":"session","app":7}"#, .badApp),
        (#"{"type":"session","app":"a","at":0}"#, .badTime),
        (#"{"type":"session","app":"a","at":-5}"#, .badTime),
        (#"{"type":"session","app":"a","at":-0}"#, .badTime),
        (#"{"type":"session","app":"a","at":-0.0}"#, .badTime),
        (#"{"type":"session","app":"a","at":1e400}"#, .badTime),
        (#"{"type":"session","app":"a","at":"1700000000000"}"#, .badTime),
        (#"{"type":"session","app":"a","sent":true}"#, .badTime),
        (#"{"type":"crash","app":"a","session_at":"x"}"#, .badTime),
        (#"{"type":"session","app":"a","id":7}"#, .badField),
        (#"{"type":"session","app":"a","foreground":"yes"}"#, .badField),
        (#"{"type":"session","app":"a","phase":1}"#, .badField),
        (#"{"type":"crash","app":"a","fatal":1}"#, .badField),
        (#"{"type":"ad_event","app":"a","error_code":[3]}"#, .badField),
    ])
    func `what cannot be used is rejected with its reason`(record: String, reason: Rejection) {
        let decoded = Decoded(record)
        #expect(decoded.events.isEmpty)
        #expect(decoded.rejected.map(\.reason) == [reason])
    }

    @Test func `a session start that is not positive does not lose the crash`() {
        for time in ["0", "-1", "-1.5", "0.0", "null"] {
            let decoded = Decoded(#"{"type":"crash","app":"a","session_at":\#(time)}"#)
            #expect(decoded.events.map(\.sessionAt) == [Event.noTime], "\(time)")
        }
    }

    @Test func `ids may have 64 characters, however many bytes that is`() {
        let wide = String(repeating: "é", count: 64)
        #expect(Decoded(#"{"type":"session","app":"a","id":"\#(wide)"}"#).rejected == [])
        let tooWide = Decoded(#"{"type":"session","app":"a","device":"\#(wide)x"}"#)
        #expect(tooWide.rejected.map(\.reason) == [.badField])
    }

    @Test func `a bad event in an array is set aside alone, with its place and id`() {
        let decoded = Decoded(
            #"""
            [{"type":"crash","app":"a","id":"1"},
             {"type":"crash","app":"a","id":"2","at":0},
             {"type":"session","app":"a","id":"3"},
             {"type":"crash","app":"b","id":"4"},
             5, [],
             {"type":"crash","app":"a","id":"7"}]
            """#)
        #expect(decoded.events.map(\.idHash) == [StableHash.of("1"), StableHash.of("7")])
        #expect(
            decoded.reports == [
                "1 2 bad_time", "2 3 wrong_type", "3 4 wrong_app", "4 - not_an_object",
                "5 - not_an_object",
            ])
    }

    @Test func `elements that are not JSON leave their neighbours alone`() {
        for bad in [#"{"type":tru}"#, "", "{,}", #"{"a":"\ud800"}"#, "{\"a\":\"\u{1}\"}", "[1,]"] {
            let decoded = Decoded(
                #"[{"type":"crash","app":"a"},\#(bad),{"type":"crash","app":"a"}]"#)
            #expect(decoded.events.count == 2, "\(bad)")
            #expect(decoded.reports == ["1 - bad_json"], "\(bad)")
        }
    }

    @Test func `bytes that are not UTF-8 spoil their own event only`() {
        var bytes = Array(
            #"[{"type":"crash","app":"a"},{"x":"?"},{"type":"crash","app":"a"}]"#.utf8)
        bytes[bytes.firstIndex(of: UInt8(ascii: "?")) ?? 0] = 0xff
        let decoded = Decoded(bytes)
        #expect(decoded.events.count == 2)
        #expect(decoded.reports == ["1 - bad_json"])
    }

    @Test func `an array with a broken frame is rejected whole`() {
        for frame in ["[E,E", "[E,E]]", "[E,E] x", "[E,E}", "[E,E\"]"] {
            let event = #"{"type":"crash","app":"a"}"#
            let decoded = Decoded(
                frame.split(separator: "E", omittingEmptySubsequences: false)
                    .joined(separator: event))
            #expect(decoded.events.isEmpty, "\(frame)")
            #expect(decoded.apps.isEmpty, "\(frame)")
            #expect(decoded.rejected == [RejectedEvent(index: nil, reason: .badJSON)], "\(frame)")
        }
    }

    @Test func `limits hold: 16 kB an event, 1 000 events and 256 kB a record`() {
        let event = #"{"type":"crash","app":"a","x":""#
        let room = EventDecoder.eventBytesMax - event.utf8.count - 2
        let fitting = event + String(repeating: "x", count: room) + #""}"#
        #expect(Decoded(fitting).rejected == [])
        #expect(Decoded(" \(fitting)\n").rejected == [])
        let large = event + String(repeating: "x", count: room + 1) + #""}"#
        #expect(Decoded(large).rejected.map(\.reason) == [.tooLarge])
        let one = Decoded("[\(fitting),\(large),\(fitting)]")
        #expect(one.events.count == 2)
        #expect(one.reports == ["1 - too_large"])
        let many = Array(repeating: #"{"type":"crash","app":"a"}"#, count: 1_001)
        #expect(Decoded("[\(many.dropLast().joined(separator: ","))]").events.count == 1_000)
        let tooMany = Decoded("[\(many.joined(separator: ","))]")
        #expect(tooMany.events.isEmpty)
        #expect(tooMany.rejected == [RejectedEvent(index: nil, reason: .tooLarge)])
        let huge = Decoded("[\(Array(repeating: fitting, count: 16).joined(separator: ","))]")
        #expect(huge.rejected == [RejectedEvent(index: nil, reason: .tooLarge)])
    }

    @Test func `nesting without end is refused, whether it closes or not`() {
        let deep = String(repeating: "[", count: 8_000)
        let closed = deep + String(repeating: "]", count: 8_000)
        for value in [deep, closed, #"{"type":"session","app":"a","x":\#(closed)}"#] {
            #expect(Decoded(value).events.isEmpty)
            #expect(!Decoded(value).rejected.isEmpty)
        }
        let some = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(Decoded(#"{"type":"session","app":"a","x":\#(some)}"#).rejected == [])
    }

    @Test func `a topic's record must have its type and its key`() {
        let record = #"{"type":"crash","app":"a"}"#
        #expect(Decoded(record, topic: .crash, key: "a").events.count == 1)
        #expect(Decoded(record, topic: .session, key: "a").rejected.map(\.reason) == [.wrongType])
        #expect(Decoded(record, topic: .crash, key: "b").rejected.map(\.reason) == [.wrongApp])
        #expect(Decoded(record, topic: .crash, key: nil).rejected.map(\.reason) == [.wrongApp])
    }
}
