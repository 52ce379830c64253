// The unit of a device's time follows from its size.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct DeviceTimeTests {
    @Test(
        arguments: [
            ("1", 1_000, 1), ("1700000000", 1_700_000_000_000, 1),
            ("1700000000.25", 1_700_000_000_250, 1), ("1700000000.0004", 1_700_000_000_000, 1),
            ("0.0001", 0, 1), ("0.0005", 1, 1), ("1.7e9", 1_700_000_000_000, 1),
            ("99999999999", 99_999_999_999_000, 1), ("99999999999.9999", 100_000_000_000_000, 1),
            ("100000000000", 100_000_000_000, 0), ("1700000000000", 1_700_000_000_000, 0),
            ("1700000000000.4", 1_700_000_000_000, 0), ("1700000000000.5", 1_700_000_000_001, 0),
            ("1.7E+12", 1_700_000_000_000, 0), ("99999999999999", 99_999_999_999_999, 0),
            ("100000000000000", 100_000_000_000, 1), ("1700000000000499", 1_700_000_000_000, 1),
            ("1700000000000500", 1_700_000_000_001, 1),
            ("99999999999999999", 100_000_000_000_000, 1),
            ("100000000000000000", 100_000_000_000, 1),
            ("1700000000000499999", 1_700_000_000_000, 1),
            ("1700000000000500000", 1_700_000_000_001, 1),
            ("9999999999999999999", 10_000_000_000_000, 1),
            ("18446744073709551615", 18_446_744_073_710, 1),
            ("18446744073709551616", 18_446_744_073_710, 1),
            ("1e22", 1 << 53, 1), ("1e300", 1 << 53, 1),
            ("1234567890123456789012345678901234567890", 1 << 53, 1),
        ] as [(String, Int64, UInt8)])
    func `a number is taken in the unit that its size tells`(
        number: String, milliseconds: Int64, converted: UInt8
    ) throws {
        let decoded = Decoded(#"{"type":"session","app":"a","at":\#(number)}"#)
        let event = try #require(decoded.events.first)
        #expect(event.at == milliseconds)
        #expect(event.convertedTimes == converted)
    }

    @Test func `numbers of very many digits are as large as they say`() {
        let zeros = String(repeating: "0", count: 400)
        for (number, time) in [
            ("0.\(zeros)1", Event.noTime), ("0.\(zeros)17e410", 1_700_000_000_000),
            ("17\(zeros)e-392", 1_700_000_000_000), ("1\(zeros)e-401", 100),
        ] {
            let decoded = Decoded(#"{"type":"crash","app":"a","session_at":\#(number)}"#)
            #expect(decoded.events.map(\.sessionAt) == [time], "\(number)")
        }
        let large = Decoded(#"{"type":"crash","app":"a","session_at":1\#(zeros)}"#)
        #expect(large.rejected.map(\.reason) == [.badTime])
    }

    @Test func `each converted time of an event is counted`() throws {
        let times = #""at":1700000000,"sent":1700000000500000,"session_at":1699999999000000000"#
        let event = try #require(Decoded(#"{"type":"crash","app":"a",\#(times)}"#).events.first)
        #expect(event.at == 1_700_000_000_000)
        #expect(event.sent == 1_700_000_000_500)
        #expect(event.sessionAt == 1_699_999_999_000)
        #expect(event.convertedTimes == 3)
    }

    @Test(arguments: ["1e-400", "0.0e9", "-1e400", "-1e-400"])
    func `a number that is nothing or less is no time`(number: String) {
        let decoded = Decoded(#"{"type":"session","app":"a","sent":\#(number)}"#)
        #expect(decoded.rejected.map(\.reason) == [.badTime])
    }
}
