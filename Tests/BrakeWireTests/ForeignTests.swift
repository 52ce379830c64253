// What other protocols report becomes our events, whatever is in it.
import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct ForeignTests {
    private let reader = DocumentReader()
    private let app = AppID("my.app")

    private func sentry(_ items: [(String, String)], sent: String? = nil) throws -> ForeignEvents {
        var text = #"{"sent_at":\#(sent.map { "\"\($0)\"" } ?? "null")}"# + "\n"
        for (type, payload) in items {
            text += #"{"type":"\#(type)","length":\#(payload.utf8.count)}"# + "\n\(payload)\n"
        }
        let bytes = Array(text.utf8)
        let envelope = try #require(SentryEnvelope(bytes, reader))
        return envelope.events(app: try #require(app), of: bytes, reader)
    }

    private func events(_ made: ForeignEvents) throws -> [JSONValue] {
        try made.uploads.flatMap { try #require(reader.read($0)?.array) }
    }

    private static func session(_ status: String, _ more: String = "") -> String {
        #"{"sid":"s1","did":"d1","started":"2026-02-07T14:16:00.5Z","status":"\#(status)"\#(more)}"#
    }

    private static let fatal = #"""
        {"event_id":"9ec79c33ec9942ab8353589fcb2e04dc","timestamp":1770473800.25,"level":"fatal",
        "release":"1.2","exception":{"values":[{"type":"SIGSEGV",
        "mechanism":{"type":"signalhandler","handled":false}}]},
        "contexts":{"os":{"name":"iOS"},"device":{"model":"iPhone"}},"user":{"id":"d1"}}
        """#

    @Test func `A session that begins, ends, crashes becomes as many events`() throws {
        let begun = try events(try sentry([("session", Self.session("ok", #","init":true"#))]))
        #expect(begun.count == 1)
        #expect(begun[0]["type"]?.text == "session")
        #expect(begun[0]["session"]?.text == "s1" && begun[0]["device"]?.text == "d1")
        #expect(begun[0]["at"]?.integer == 1_770_473_760_500)
        let ended = try events(
            try sentry(
                [("session", Self.session("exited", #","timestamp":"2026-02-07T15:16:00+01:00""#))],
                sent: "2026-02-07T14:17:00Z"))
        #expect(ended.map { $0["phase"]?.text } == ["end"])
        #expect(ended[0]["at"]?.integer == 1_770_473_760_000)
        #expect(ended[0]["sent"]?.integer == 1_770_473_820_000)
        let both = try events(try sentry([("session", Self.session("crashed", #","init":true"#))]))
        #expect(both.map { $0["type"]?.text } == ["session", "crash"])
        #expect(both[1]["session_at"]?.integer == 1_770_473_760_500)
    }

    @Test func `An error in the envelope of its session is the same crash`() throws {
        let made = try sentry([("event", Self.fatal), ("session", Self.session("crashed"))])
        let crash = try #require(try events(made).first)
        #expect(made.count == 1)
        #expect(crash["id"]?.text == "s1:crash")
        #expect(crash["fatal"] == .bool(true))
        #expect(crash["kind"]?.text == "signal")
        #expect(crash["at"]?.integer == 1_770_473_800_250)
        #expect(crash["model"]?.text == "iPhone")
    }

    @Test func `An error alone is a soft error, or a crash that does not count`() throws {
        let alone = try events(try sentry([("event", Self.fatal)]))
        #expect(alone[0]["type"]?.text == "crash" && alone[0]["fatal"] == .bool(false))
        #expect(alone[0]["id"]?.text == "9ec79c33ec9942ab8353589fcb2e04dc")
        let handled = #"{"event_id":"e","exception":[{"type":"E","mechanism":{"handled":true}}]}"#
        let soft = try events(try sentry([("event", handled)]))
        #expect(soft[0]["type"]?.text == "soft_error" && soft[0]["severity"]?.text == "error")
        #expect(soft[0]["domain"]?.text == "E")
    }

    @Test func `An app that hung in front of its user has crashed`() throws {
        let mechanisms = [("anr_foreground", true), ("anr_background", false)]
        for (mechanism, isFatal) in mechanisms {
            let more = #","abnormal_mechanism":"\#(mechanism)""#
            let made = try events(try sentry([("session", Self.session("abnormal", more))]))
            #expect(made[0]["kind"]?.text == "anr")
            #expect(made[0]["fatal"] == .bool(isFatal))
        }
    }

    @Test func `Aggregated sessions become single ones, the same ones when sent again`() throws {
        let payload = #"""
            {"aggregates":[{"started":"2026-02-07T14:16:00Z","exited":1200,"errored":2,
            "crashed":3},{"started":"2026-02-07T14:17:00Z","exited":1}],
            "attrs":{"release":"1.2"}}
            """#
        let made = try sentry([("sessions", payload)])
        #expect(made.count == 1_209)
        #expect(made.uploads.count == 2, "no upload has more than a thousand")
        let all = try events(made)
        #expect(all.filter { $0["type"]?.text == "crash" }.count == 3)
        #expect(Set(all.compactMap { $0["session"]?.text }).count == 1_206)
        #expect(try sentry([("sessions", payload)]) == made)
        let huge = #"{"aggregates":[{"started":"2026-02-07T14:16:00Z","exited":9999999999}]}"#
        let cut = try sentry([("sessions", huge)])
        #expect(cut.count == ForeignEvents.eventsMax)
    }

    @Test(
        arguments: [
            ("2020-02-07T14:16:00Z", 1_581_084_960_000),
            ("2020-02-29T23:59:59.9999+00:00", 1_583_020_799_999),
            ("1970-01-01 00:00:00", 0), ("2000-03-01T00:00:00-0130", 951_874_200_000),
            ("2020-13-07T14:16:00Z", nil), ("2020-02-07", nil), ("2020-02-07T14:16:00Zx", nil),
            ("٢٠٢٠-02-07T14:16:00Z", nil), ("", nil),
        ] as [(String, Int64?)])
    func `Moments are read to the millisecond`(text: String, time: Int64?) {
        #expect(MomentText.milliseconds(text) == time)
    }

    @Test func `Numbers that cost nothing to send cost little to read`() throws {
        let one = #"{"started":"2026-02-07T14:16:00Z","crashed":9999999,"exited":9999999}"#
        let list = Array(repeating: one, count: 10_000).joined(separator: ",")
        let made = try sentry([("sessions", #"{"aggregates":[\#(list)]}"#)])
        #expect(made.count == ForeignEvents.eventsMax)
        #expect(made.ignored["too_many"].map { $0 > 190_000_000 } == true)
    }

    @Test func `A text that is one endless character is cut`() throws {
        let endless = "a" + String(repeating: "\u{301}", count: 300_000)
        let more = #","init":true,"attrs":{"release":"\#(endless)"}"#
        let made = try sentry([("session", Self.session("ok", more))])
        #expect(made.uploads.count == 1 && made.uploads[0].count < 1_000)
        #expect(UploadSplitter().accepts(made.uploads[0]))
    }

    // MARK: OpenTelemetry

    private static func attribute(_ key: String, _ value: String) -> [UInt8] {
        var any = ProtobufWriter()
        any.bytes(1, Array(value.utf8))
        var pair = ProtobufWriter()
        pair.bytes(1, Array(key.utf8))
        pair.bytes(2, any.bytes)
        return pair.bytes
    }

    private static func record(
        event: String, severity: UInt64 = 0, _ attributes: [(String, String)]
    ) -> [UInt8] {
        var record = ProtobufWriter()
        record.number(2, severity)
        for (key, value) in attributes { record.bytes(6, attribute(key, value)) }
        record.bytes(12, Array(event.utf8))
        return record.bytes
    }

    private static func request(
        _ records: [[UInt8]], resource: [(String, String)] = [("service.name", "my.app")]
    ) -> [UInt8] {
        var attributes = ProtobufWriter()
        for (key, value) in resource { attributes.bytes(1, attribute(key, value)) }
        var scope = ProtobufWriter()
        for record in records { scope.bytes(2, record) }
        var logs = ProtobufWriter()
        // The resource after its logs, as the encoding allows.
        logs.bytes(2, scope.bytes)
        logs.bytes(1, attributes.bytes)
        var request = ProtobufWriter()
        request.bytes(1, logs.bytes)
        return request.bytes
    }

    @Test func `Sessions, crashes and exceptions of the conventions are mapped`() throws {
        let device = ("app.installation.id", "d1")
        let session = ("session.id", "s1")
        let bytes = Self.request(
            [
                Self.record(event: "session.start", [session]),
                Self.record(event: "", [("event.name", "session.end"), session]),
                Self.record(
                    event: "app.crash",
                    [session, ("exception.type", "E"), ("app.crash.id", "c1")]),
                Self.record(event: "device.crash", [("session.id", "s2")]),
                Self.record(event: "", severity: 17, [("exception.type", "E")]),
                Self.record(event: "", severity: 21, [("exception.type", "E")]),
                Self.record(event: "session.start", []),
                Self.record(event: "", severity: 9, []),
            ], resource: [("service.name", "my.app"), ("service.version", "1.2"), device])
        let logs = try #require(OTLPLogs(protobuf: bytes))
        #expect(logs.count == 8)
        let made = logs.events { $0 == "my.app" ? app : nil }
        #expect(made.ignored == ["no_session": 1, "log": 1])
        let all = try events(made)
        let types = all.map {
            ($0["type"]?.text ?? "") + ($0["phase"]?.text.map { " " + $0 } ?? "")
        }
        #expect(types == ["session", "session end", "crash", "crash", "soft_error", "crash"])
        #expect(all.allSatisfy { $0["device"]?.text == "d1" && $0["build"]?.text == "1.2" })
        #expect(all[2]["id"]?.text == "c1" && all[2]["session"]?.text == "s1")
        #expect(all[3]["id"]?.text != all[5]["id"]?.text)
        #expect(OTLPLogs(protobuf: bytes)?.events { _ in app } == made)
        #expect(logs.events { _ in nil }.ignored == ["app": 8])
    }

    @Test func `What a crash says of itself goes before what its reporter says`() throws {
        let bytes = Self.request(
            [Self.record(event: "app.crash", [("service.version", "1.1")])],
            resource: [("service.name", "my.app"), ("service.version", "1.2")])
        let made = try #require(OTLPLogs(protobuf: bytes)).events { _ in app }
        #expect(try events(made)[0]["build"]?.text == "1.1")
    }

    @Test func `Damaged requests of both encodings are refused or read, never more`() throws {
        let good = Self.request([
            Self.record(event: "session.start", [("session.id", "s1")]),
            Self.record(event: "app.crash", [("exception.type", "E")]),
        ])
        let envelope = Array(
            #"{"event_id":"x"}\#n{"type":"session"}\#n{"sid":"s"}\#n{"type":"event","length":2}\#n{}"#
                .utf8)
        let seed = UInt64.random(in: 0...UInt64.max)
        print("ForeignTests seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            let source = Bool.random(using: &random) ? good : envelope
            var bytes = source
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(at...)
                default: bytes.insert(contentsOf: source.prefix(at), at: at)
                }
                if bytes.isEmpty { break }
            }
            let logs = OTLPLogs(protobuf: bytes) ?? OTLPLogs(json: bytes, reader)
            let made = logs.map { $0.events { _ in app } }
            let other = SentryEnvelope(bytes, reader)?.events(
                app: try #require(app), of: bytes, reader)
            for events in [made, other] {
                for upload in events?.uploads ?? [] { #expect(reader.read(upload)?.array != nil) }
            }
        }
    }
}

extension UploadSplitter {
    /// Whether every event of an upload is good.
    fileprivate func accepts(_ body: [UInt8]) -> Bool {
        let upload = unsafe body.withUnsafeBytes { unsafe try? split($0) }
        return upload.map { $0.accepted > 0 && $0.rejected.isEmpty } ?? false
    }
}
