// Damaged bytes by seed: nothing traps, neighbours survive, and all routes judge alike.

import BrakeModel
import Foundation
import Testing

@testable import BrakeWire

@Suite struct MutationTests {
    private static let texts = [
        #"{"type":"crash","app":"a","id":"c-1","session":"s-1","device":"d\u00e9","at":17000000001}"#,
        #"{"type":"crash","app":"a","at":1.7e12,"sent":1700000000000,"x":[1,{"y":null}],"fatal":true}"#,
        #"{"session_at":1699999999000,"kind":"oom","app":"a","type":"crash","vendor":"\"q\\\ud83d\ude00"}"#,
        #" { "type" : "crash" , "app" : "a" , "build" : -0.5e-3 , "model" : "é" , "y" : false } "#,
    ]
    private static var events: [[UInt8]] { texts.map { Array($0.utf8) } }
    private static let seeds = Array(UInt64(1)...24)
    private static let rounds = 200

    @Test(arguments: seeds)
    func `damaged records never trap, and what is taken is JSON`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let decoder = EventDecoder()
        for _ in 0..<Self.rounds {
            var bytes = Self.array(Self.events)
            damage(&bytes, &random)
            let decoded = Decoded(bytes, with: decoder)
            let isWhole = decoded.rejected.allSatisfy { $0.index != nil }
            if isWhole, !decoded.rejected.contains(where: { $0.reason == .badJSON }) {
                let isJSON = isJSON(bytes)
                #expect(isJSON, "seed \(seed): \(text(bytes))")
            }
            #expect(isWhole || decoded.events.isEmpty, "seed \(seed): \(text(bytes))")
            for event in decoded.events {
                #expect(event.appHash != 0 && event.meaning.rawValue <= 7)
                #expect(event.at == Event.noTime || event.at >= 0)
            }
        }
    }

    @Test(arguments: seeds)
    func `whatever an event's bytes become within its frame, its neighbours stay`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let decoder = EventDecoder()
        let frame = Set(#""\{}[],"#.utf8)
        for _ in 0..<Self.rounds {
            var events = Self.events
            let victim = Int.random(in: 0..<events.count, using: &random)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<events[victim].count, using: &random)
                let byte = UInt8.random(in: 0...255, using: &random)
                if frame.contains(byte) || frame.contains(events[victim][place]) { continue }
                events[victim][place] = byte
            }
            let decoded = Decoded(Self.array(events), topic: .crash, key: "a", with: decoder)
            #expect(
                decoded.rejected.allSatisfy { $0.index == victim },
                "seed \(seed): \(text(Self.array(events)))")
            #expect(decoded.events.count + decoded.rejected.count == events.count)
        }
    }

    @Test(arguments: seeds)
    func `an array is judged as its elements are alone`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let decoder = EventDecoder()
        for _ in 0..<Self.rounds {
            var bytes = Self.array(Self.events)
            damage(&bytes, &random)
            let together = Decoded(bytes, with: decoder)
            guard let elements = ArrayFrame.elements(ofCopied: bytes) else {
                let reason = bytes.isEmpty ? Rejection.empty : .badJSON
                #expect(together.rejected.map(\.reason) == [reason])
                continue
            }
            let alone = elements.map {
                Decoded(Array(bytes[$0]), topic: .crash, key: "a", with: decoder)
            }
            let grouped = Decoded(bytes, topic: .crash, key: "a", with: decoder)
            #expect(grouped.events.count == alone.reduce(0) { $0 + $1.events.count })
            #expect(grouped.events.map(\.idHash) == alone.flatMap { $0.events.map(\.idHash) })
            // An element of nothing is a record with no value.
            let reasons = alone.flatMap { $0.rejected.map(\.reason) }
            let expected = reasons.map { $0 == .empty ? .badJSON : $0 }
            // An array where an event should be is taken apart when it is a record.
            if !elements.contains(where: { bytes[$0].first == UInt8(ascii: "[") }) {
                #expect(grouped.rejected.map(\.reason) == expected, "seed \(seed): \(text(bytes))")
            }
        }
    }

    @Test(arguments: seeds)
    func `the evaluator takes all that the collector has accepted`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let decoder = EventDecoder()
        let splitter = UploadSplitter()
        for round in 0..<Self.rounds {
            var body = Self.array(Self.events)
            if round % 2 == 0 { body = Array(Self.events.joined(separator: [UInt8(ascii: "\n")])) }
            damage(&body, &random)
            let upload = unsafe body.withUnsafeBytes { try? unsafe splitter.split($0) }
            for record in upload?.records ?? [] {
                let decoded = Decoded(
                    record.value, topic: record.type, key: record.app.text, with: decoder)
                #expect(decoded.events.count == record.count, "seed \(seed): \(text(body))")
                #expect(decoded.rejected == [], "seed \(seed): \(text(body))")
            }
        }
    }

    @Test(arguments: seeds)
    func `damaged lines and documents never trap`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let replay = ReplayDecoder()
        let reader = DocumentReader()
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        let line = Array(#"{"append":17,"value":"#.utf8) + Self.array(Self.events) + [0x7d]
        for _ in 0..<Self.rounds {
            var bytes = line
            damage(&bytes, &random)
            unsafe bytes.withUnsafeBytes { line in
                let append = unsafe replay.decode(line, into: &batch, rejected: &rejected)
                #expect((0...ReplayDecoder.appendMax).contains(append ?? 0))
            }
            var policy = Array(BuiltInPolicies.defaultSource.utf8)
            damage(&policy, &random)
            _ = try? PolicyDocument(policy, with: reader)
        }
        #expect(!batch.events.isEmpty && !rejected.isEmpty)
    }

    /// What Foundation thinks, which refuses numbers that are too large for it.
    private func isJSON(_ bytes: [UInt8]) -> Bool {
        let text = text(bytes).replacing(/([0-9])[eE][+-]?[0-9]{3,}/) { "\($0.1)e1" }
        return (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func array(_ events: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + events.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    /// One to three flips, changes, cuts or repetitions.
    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let marks = Array("\"\\{}[],:0-.eu \n".utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let place = bytes.indices.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes[place] = marks.randomElement(using: &random) ?? 0
            case 3: bytes.remove(at: place)
            case 4: bytes.insert(marks.randomElement(using: &random) ?? 0, at: place)
            default:
                if Int.random(in: 0..<8, using: &random) == 0 {
                    bytes.removeLast(bytes.count - place)
                }
            }
        }
    }
}

extension ArrayFrame {
    fileprivate static func elements(ofCopied bytes: [UInt8]) -> [Range<Int>]? {
        unsafe bytes.withUnsafeBytes { unsafe elements(of: $0) }
    }
}
