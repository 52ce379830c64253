// The records that our stages exchange, against the examples that other consumers read.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct RecordTests {
    private static let throttled: ThrottleRecord = {
        guard let news = AppID("com.example.news") else { preconditionFailure("a good id") }
        var minute = WindowCounts(windowSeconds: 60)
        minute.sessions = 200
        minute.crashes = 25
        minute.crashedSessions = 22
        minute.crashingSessions = 24
        minute.crashedDevices = 21
        minute.rate = 0.88
        minute.low = 0.8276574790170326
        minute.high = 0.9180200729362449
        minute.sample = .sufficient
        let change = ThrottleChange(
            app: news, state: .halt, since: 1_700_000_061_000,
            revision: 3, policy: "default", cause: .rule,
            why: Why(
                clock: 1_700_000_061_000, rule: "burst",
                windows: [minute, WindowCounts(windowSeconds: 600)]))
        return ThrottleRecord(change: change, partition: 5, epoch: 42)
    }()

    private static let epoch: EpochRecord = {
        var offsets = EpochRecord.Offsets()
        offsets.session = 1_000
        offsets.crash = 17
        offsets.softError = 3
        offsets.adEvent = 4_096
        offsets.control = 2
        return EpochRecord(
            number: 42, generation: 7, partition: 5, clock: 1_700_000_061_000, offsets: offsets,
            policies: [.init(name: "default", version: 1)], changes: 1,
            checksum: 0x0123_4567_89ab_cdef,
            snapshots: [.init(epoch: 40, offset: 12, chunks: 2, bytes: 700_000)], throttleEnd: 9)
    }()

    private static let notices = [
        (
            "silence-of-one-app",
            Notice(
                kind: .silenceBegan, app: AppID("com.example.news"), clock: 1_700_000_061_000,
                text: "40 sessions in ten minutes, where 200 were to be expected.")
        ),
        (
            "policy-of-the-fleet-rejected",
            Notice(
                kind: .policyRejected, app: nil, clock: 1_700_000_061_000,
                text: "\"night\" version 2:\n\ttick_ms: missing \u{1} \\ é")
        ),
    ]

    @Test func `a throttle record has the bytes of its example, and comes back`() throws {
        let bytes = Self.throttled.encode()
        #expect(try Fixture.bytes("examples/valid/throttle/halt-by-rule.json") == bytes + [0x0a])
        #expect(try decode(bytes) == Self.throttled)
    }

    @Test func `an epoch record has the bytes of its example, and comes back`() throws {
        let bytes = Self.epoch.encode()
        #expect(try Fixture.bytes("examples/valid/epoch/with-a-snapshot.json") == bytes + [0x0a])
        let decoded = try unsafe bytes.withUnsafeBytes {
            try unsafe EpochRecord.decode($0, with: DocumentReader())
        }
        #expect(decoded == Self.epoch)
        let older = try unsafe Fixture.bytes("examples/valid/epoch/with-a-tightening.json")
            .withUnsafeBytes { try unsafe EpochRecord.decode($0, with: DocumentReader()) }
        #expect(older.checksumIDs == .all)
    }

    @Test(arguments: notices)
    func `a notice has the bytes of its example, and comes back`(
        name: String, notice: Notice
    ) throws {
        let bytes = notice.encode()
        #expect(try Fixture.bytes("examples/valid/notice/\(name).json") == bytes + [0x0a])
        let decoded = try unsafe bytes.withUnsafeBytes {
            try unsafe Notice.decode($0, with: DocumentReader())
        }
        #expect(decoded == notice)
    }

    @Test func `a dead letter has the bytes of its example`() throws {
        let event = RejectedEvent(index: 1, id: "c-2", reason: .badTime, bytes: 28..<55)
        let value = #"[{"type":"crash","app":"a"},{"type":"crash","id":"c-2"}]"#
        let letter = deadLetter(event, value: Array(value.utf8))
        #expect(
            try Fixture.bytes("examples/valid/dead/one-of-an-array.json") == letter.encode() + [
                0x0a
            ])
        let binary = deadLetter(
            RejectedEvent(index: nil, reason: .badJSON), value: [0xff, 0x00, 0x7b, 0x22])
        #expect(
            try Fixture.bytes("examples/valid/dead/not-utf-8.json") == binary.encode() + [0x0a])
    }

    @Test func `letters and marks come back, those of older builds too`() throws {
        for path in Fixture.files(in: "examples/valid/dead") {
            let bytes = try Fixture.bytes(path).dropLast()
            let record = try unsafe Array(bytes).withUnsafeBytes {
                try unsafe DeadRecord.decode($0, with: DocumentReader())
            }
            switch record {
            case .letter(let letter): #expect(letter.encode() == Array(bytes), "\(path)")
            case .retried(let mark): #expect(mark.encode() == Array(bytes), "\(path)")
            }
        }
        #expect(Base64.bytes("AP8=") == [0, 0xff])
        for text in ["A", "A===", "====", "AP8=AP8=", "A\u{e9}=="] {
            #expect(Base64.bytes(text) == nil, "\(text)")
        }
    }

    @Test func `a dead letter keeps 1 kB and no half characters`() {
        let long = Array(String(repeating: "é", count: 2_000).utf8)
        let odd = [UInt8(ascii: "x")] + long
        let whole = RejectedEvent(index: nil, reason: .badJSON)
        for value in [long, odd] {
            let text = String(decoding: deadLetter(whole, value: value).encode(), as: UTF8.self)
            #expect(text.hasSuffix("é\"}"))
            #expect(!text.contains("\u{fffd}"))
        }
        #expect(deadLetter(whole, value: odd).excerpt.count == 1_024)
        let none = unsafe DeadLetter(
            stage: .evaluate, topic: "crash", partition: 0, offset: 1, append: 2, app: nil,
            event: RejectedEvent(index: nil, reason: .empty), value: nil)
        #expect(String(decoding: none.encode(), as: UTF8.self).hasSuffix(#""text":""}"#))
    }

    @Test(arguments: [
        (#""v":1"#, #""v":2"#, Rejection.unknownVersion), (#""v":1,"#, "", .unknownVersion),
        (#""v":1"#, #""v":"1""#, .unknownVersion), (#""Halt""#, #""Emergency""#, .badField),
        (#""Halt""#, "3", .badField), ("com.example.news", "no app", .badApp),
        (#""rule","why""#, #""weather","why""#, .badField),
        (#""since":1700000061000"#, #""since":1e400"#, .badField),
        (#""sessions":200"#, #""sessions":-1"#, .badField), ("}}", "}", .badJSON),
    ])
    func `a throttle record that cannot be understood is rejected`(
        part: String, change: String, reason: Rejection
    ) {
        let text = String(decoding: Self.throttled.encode(), as: UTF8.self)
        let changed = text.replacing(part, with: change, maxReplacements: 1)
        let bytes = part == "}}" ? Array(text.utf8.dropLast()) : Array(changed.utf8)
        #expect(throws: reason) { try decode(bytes) }
    }

    @Test func `a damaged record is never a trap`() {
        let bytes = Self.throttled.encode()
        for end in bytes.indices {
            #expect(throws: Rejection.self) { try decode(Array(bytes[..<end])) }
        }
        for index in bytes.indices {
            for byte in [UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "9"), 0xff] {
                var damaged = bytes
                damaged[index] = byte
                _ = try? decode(damaged)
            }
        }
    }

    @Test func `numbers are written so that they come back`() {
        let bytes = JSONWriter.bytes { writer in
            writer.array { list in
                for value in [0.1, 1, 1e21, .leastNonzeroMagnitude, -0.0, .pi, .infinity, .nan] {
                    list.real(value)
                }
                list.integer(Int64.min)
                list.integer(UInt64.max)
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(
            text == "[0.1,1.0,1e+21,5e-324,-0.0,3.141592653589793,null,null,"
                + "-9223372036854775808,18446744073709551615]")
        let values = DocumentReader().read(bytes)?.array
        #expect(values?[3].number == .leastNonzeroMagnitude)
        #expect(values?[8].integer == Int64.min)
        #expect(values?[9].number == 0x1p64)
    }

    @discardableResult
    private func decode(_ bytes: [UInt8]) throws -> ThrottleRecord {
        try unsafe bytes.withUnsafeBytes {
            try unsafe ThrottleRecord.decode($0, with: DocumentReader(bytesMax: 4_096))
        }
    }

    private func deadLetter(_ event: RejectedEvent, value: [UInt8]) -> DeadLetter {
        unsafe value.withUnsafeBytes { value in
            unsafe DeadLetter(
                stage: .evaluate, topic: "crash", partition: 5, offset: 17,
                append: 1_700_000_061_000, app: AppID("a"), event: event, value: value)
        }
    }
}
