// A decoder remembers the keys of the event before: what it has read must not change what it reads.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct KeyMemoryTests {
    private static let rounds = 300
    /// Of one length, of one beginning, longer than what is remembered, ours and not ours.
    private static let keys = [
        "type", "typo", "sent", "kind", "id", "it", "at", "app", "apps", "session", "sessioN",
        "session_at", "session_ax", "error_code", "error_codx", "foregrounx", "severity", "device",
        "event", "count", "country", "phase", "fatal", "foreground",
        "dismiss_delay_ms", "dismiss_delay_mt", "elevenbytes", "twelve_bytes", "thirteenbytes",
        "fourteen_bytes", "fifteen__bytes_", "", "ty\\u0070e", "é",
    ]
    private static let values = [
        #""ad_event""#, #""a""#, #""b""#, "1700000000000", "1700000000001", "true", "null", "-1",
        #""x\n""#, #""""#, "{}", #"[":",{"type":"crash"}]"#, "7",
    ]
    private static let spaces = ["", "", "", "", " ", "\n\t"]

    @Test(arguments: UInt64(1)...24)
    func `an event is read the same whatever was read before`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let used = EventDecoder()
        var order = Self.keys
        for round in 0..<Self.rounds {
            // Mostly the same keys in the same order, as from one program.
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let (one, other) = (
                    order.indices.randomElement(using: &random) ?? 0,
                    order.indices.randomElement(using: &random) ?? 0
                )
                order.swapAt(one, other)
            }
            let record = Self.record(order, &random)
            let (again, fresh) = (Decoded(record, with: used), Decoded(record))
            let isSame =
                "\(again.events)" == "\(fresh.events)" && again.rejected == fresh.rejected
                && again.apps == fresh.apps
            #expect(
                isSame, "seed \(seed), round \(round): \(String(decoding: record, as: UTF8.self))")
        }
    }

    /// An event that is good as far as the first keys of the order go, or an array of some.
    private static func record(_ order: [String], _ random: inout SeededGenerator) -> [UInt8] {
        let count = Int.random(in: 1...4, using: &random)
        let type = EventType.allCases.randomElement(using: &random) ?? .crash
        let events = (0..<count).map { _ in
            let length = Int.random(in: 0...order.count, using: &random)
            let keys = order.prefix(length).filter { _ in
                Int.random(in: 0..<5, using: &random) > 0
            }
            var fields = [#""type":"\#(type.name)""#, #""app":"a""#]
            for key in keys {
                let space = (0..<3).map { _ in spaces.randomElement(using: &random) ?? "" }
                // Mostly what the key asks for, so that most events are taken.
                let value =
                    Int.random(in: 0..<8, using: &random) == 0
                    ? values.randomElement(using: &random) ?? "" : usual(key, type)
                fields.append("\(space[0])\"\(key)\"\(space[1]):\(space[2])\(value)")
            }
            if Bool.random(using: &random) { fields.swapAt(0, fields.count - 1) }
            return "{\(fields.joined(separator: ","))}"
        }
        return Array((count == 1 ? events[0] : "[\(events.joined(separator: ","))]").utf8)
    }

    private static func usual(_ key: String, _ type: EventType) -> String {
        switch key {
        case "type": "\"\(type.name)\""
        case "app": #""a""#
        case "sent", "at", "session_at": "1700000000002"
        case "count", "dismiss_delay_ms": "3"
        case "fatal", "foreground": "true"
        default: #""word""#
        }
    }
}
