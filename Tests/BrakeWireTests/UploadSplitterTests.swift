// Uploads in their three forms, cut into records by type and app.

import BrakeModel
import Testing

@testable import BrakeWire

@Suite struct UploadSplitterTests {
    private static let crash = #"{"type":"crash","app":"a","id":"c"}"#
    private static let start = #"{ "type" : "session", "app":"a" }"#
    private static let other = #"{"type":"crash","app":"b"}"#

    @Test func `events are gathered by type and app, their bytes as they were sent`() throws {
        let upload = try split("[\(Self.crash), \(Self.start),\n\(Self.other) ,\(Self.crash)]")
        #expect(upload.accepted == 4)
        #expect(upload.rejected == [])
        #expect(
            texts(upload) == [
                "crash a 2 [\(Self.crash),\(Self.crash)]", "session a 1 \(Self.start)",
                "crash b 1 \(Self.other)",
            ])
    }

    @Test func `a single object is one event, even over several lines`() throws {
        let pretty = "{\n\"type\": \"crash\",\n\"app\": \"a\"\n}"
        #expect(texts(try split("\n \(pretty)\n")) == ["crash a 1 \(pretty)"])
    }

    @Test func `a bad line is rejected alone`() throws {
        let body =
            "\(Self.crash)\r\n\n{\"type\":\n[]\n{\"type\":\"crash\",\"id\":\"x\"}\n\(Self.crash)"
        let upload = try split(body)
        #expect(texts(upload) == ["crash a 2 [\(Self.crash),\(Self.crash)]"])
        #expect(upload.rejected.map(\.index) == [1, 2, 3])
        #expect(upload.rejected.map(\.id) == [nil, nil, "x"])
        #expect(upload.rejected.map(\.reason) == [.badJSON, .notAnObject, .badApp])
        #expect(
            String(decoding: upload.answer(), as: UTF8.self)
                == #"{"accepted":2,"rejected":[{"index":1,"id":null,"reason":"bad_json"},"#
                + #"{"index":2,"id":null,"reason":"not_an_object"},"#
                + #"{"index":3,"id":"x","reason":"bad_app"}]}"#)
    }

    @Test func `bad elements of an array are rejected alone`() throws {
        for bad in [#"{"type":"crash","app":"a","x":tru}"#, "{\"x\":\"\u{1}\"}", "", "5", "[[]]"] {
            let upload = try split("[\(Self.crash),\(bad),\(Self.other)]")
            #expect(upload.accepted == 2, "\(bad)")
            #expect(upload.rejected.map(\.index) == [1], "\(bad)")
        }
    }

    @Test func `only the apps of the key are taken`() throws {
        let app = try #require(AppID("a"))
        let upload = try split("[\(Self.crash),\(Self.other)]", apps: [app])
        #expect(texts(upload) == ["crash a 1 \(Self.crash)"])
        #expect(upload.rejected.map(\.reason) == [.wrongApp])
    }

    @Test(arguments: [
        ("", UploadRefusal.empty), (" \n", .empty), ("[", .badJSON), ("[{}", .badJSON),
        ("[1] 2", .badJSON), ("{", .badJSON), ("x\ny", .badJSON), ("\u{1}", .badJSON),
        ("7", .notEvents), ("null", .notEvents), (#""text""#, .notEvents),
    ])
    func `what holds no events is refused whole`(body: String, refusal: UploadRefusal) {
        #expect(throws: refusal) { try split(body) }
    }

    @Test func `an upload of no events is accepted`() throws {
        #expect(try split("[ ]").accepted == 0)
    }

    @Test func `limits hold: 1 000 events and 1 MB an upload, 256 kB a record`() throws {
        let many = Array(repeating: Self.crash, count: 1_001)
        #expect(try split("[\(many.dropLast().joined(separator: ","))]").accepted == 1_000)
        #expect(try split(many.dropLast().joined(separator: "\n")).accepted == 1_000)
        for body in ["[\(many.joined(separator: ","))]", many.joined(separator: "\n")] {
            #expect(throws: UploadRefusal.tooManyEvents) { try split(body) }
        }
        let text = String(repeating: "x", count: 10_000)
        let large = Array(repeating: #"{"type":"crash","app":"a","x":"\#(text)"}"#, count: 60)
        let upload = try split("[\(large.joined(separator: ","))]")
        #expect(upload.accepted == 60)
        #expect(upload.records.map(\.count) == [26, 26, 8])
        for record in upload.records {
            #expect(record.value.count <= EventDecoder.recordBytesMax)
            #expect(Decoded(record.value).events.count == record.count)
        }
        #expect(throws: UploadRefusal.tooLarge) {
            try split(String(repeating: " ", count: UploadSplitter.uploadBytesMax + 1))
        }
    }

    private func split(_ body: String, apps: Set<AppID>? = nil) throws -> Upload {
        try unsafe Array(body.utf8).withUnsafeBytes { body in
            try unsafe UploadSplitter().split(body, apps: apps)
        }
    }

    private func texts(_ upload: Upload) -> [String] {
        upload.records.map { record in
            let value = String(decoding: record.value, as: UTF8.self)
            return "\(record.type.name) \(record.app) \(record.count) \(value)"
        }
    }
}
