// Lines of a replay file: their append time, their record, and what is wrong with them.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct ReplayDecoderTests {
    private struct Line {
        var append: Int64?
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []

        init(_ text: String) {
            unsafe Array(text.utf8).withUnsafeBytes { line in
                append = unsafe ReplayDecoder().decode(line, into: &batch, rejected: &rejected)
            }
        }
    }

    @Test(arguments: [
        #"{"append":7}"#, #" { "append" : 7 , "value" : null } "#, #"{"append":7,"note":[{}]}"#,
        #"{"append":9,"append":7}"#,
    ])
    func `a line without a record moves the clock alone`(text: String) {
        let line = Line(text)
        #expect(line.append == 7)
        #expect(line.batch.events.isEmpty)
        #expect(line.rejected == [])
    }

    @Test(arguments: [
        #"{"append":7,"value":{"type":"crash","app":"a"}}"#,
        #"{"value":{"type":"crash","app":"a"},"append":7}"#,
        #"{"append":7,"value":[{"type":"crash","app":"a"}],"note":"x"}"#,
        #"{"append":7,"value":[{"x":{"y":[1,{}]},"type":"crash","app":"\u0061"}]}"#,
    ])
    func `a line's events have its append time`(text: String) throws {
        let line = Line(text)
        #expect(line.append == 7)
        #expect(line.rejected == [])
        let event = try #require(line.batch.events.first)
        #expect(event.append == 7)
        #expect(event.meaning == .crash)
        #expect(event.appHash == StableHash.of("a"))
    }

    @Test func `a bad event is rejected alone, the line still moves the clock`() {
        let good = #"{"type":"crash","app":"a"}"#
        let line = Line(#"{"append":7,"value":[\#(good),{"type":"crash"},\#(good)]}"#)
        #expect(line.append == 7)
        #expect(line.batch.events.count == 2)
        #expect(line.rejected.map(\.index) == [1])
        #expect(line.rejected.map(\.reason) == [.badApp])
        #expect(Line(#"{"append":7,"value":"x"}"#).append == 7)
        #expect(Line(#"{"append":7,"value":"x"}"#).rejected.map(\.reason) == [.notAnObject])
        #expect(Line(#"{"append":7,"value":[]}"#).rejected == [])
    }

    @Test func `a long escaped text, which is read twice, fits the parser's memory`() {
        let text = #"\n"# + String(repeating: "x", count: EventDecoder.recordBytesMax - 200)
        for value in [#"{"x":"\#(text)"}"#, #"[{"x":["\#(text)"]}]"#, #""\#(text)""#] {
            #expect(Line(#"{"append":7,"value":\#(value)}"#).append == 7)
        }
    }

    @Test(arguments: [
        (#"{"value":{"type":"crash","app":"a"}}"#, Rejection.badTime),
        (#"{"append":null}"#, .badTime), (#"{"append":-1}"#, .badTime),
        (#"{"append":7.5}"#, .badTime), (#"{"append":"7"}"#, .badTime),
        (#"{"append":4294967296000}"#, .badTime), ("{}", .badTime),
        ("", .badJSON), ("x", .badJSON), ("7", .badJSON), (#"{"append":7"#, .badJSON),
        (#"{"append":7}}"#, .badJSON), (#"{"append":7,"value":{]}"#, .badJSON),
        ("[]", .notAnObject),
    ])
    func `a line without a usable append time is rejected whole`(text: String, reason: Rejection) {
        let line = Line(text)
        #expect(line.append == nil)
        #expect(line.batch.events.isEmpty)
        #expect(line.rejected == [RejectedEvent(index: nil, reason: reason)])
    }

    @Test func `append times reach to the end of 32 bits of seconds`() {
        #expect(Line(#"{"append":0}"#).append == 0)
        #expect(Line(#"{"append":4294967295999}"#).append == 4_294_967_295_999)
    }
}
