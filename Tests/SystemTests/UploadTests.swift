// What a client of the collector meets at its limits: keys, sizes, and events that are not any.
import BrakeWire
import EventLog
import Foundation
import HTTPClient
import SQLiteLog
import Testing

@Suite("The collector, from outside")
struct UploadTests {
    /// A collector of its own for each test; `send` posts to it.
    private func withCollector(
        _ options: [String] = [], in workplace: Workplace,
        _ body: (Child, _ send: (String, String?) throws -> HTTPResponse) throws -> Void
    ) throws {
        let collect = try workplace.start("collect", options)
        defer { collect.close() }
        let url = "\(try collect.address())/v1/events"
        let connection = HTTPConnection()
        try body(collect) { text, key in
            let headers = key.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
            return try connection.post(url, text, headers: headers)
        }
    }

    private func session(_ app: String, more: String = "") -> String {
        #"{"type":"session","app":"\#(app)","session":"s"\#(more)}"#
    }

    private func rejected(_ answer: HTTPResponse) throws -> [String] {
        let list = try #require(DocumentReader().read(answer.body)?["rejected"]?.array)
        return list.map { "\($0["index"]?.integer ?? -1) \($0["reason"]?.text ?? "")" }
    }

    @Test("lets keys report for their own apps, and reads them again at SIGHUP")
    func keys() throws {
        try withWorkplace { workplace in
            let (one, all, new) = ("one-app-key-12345", "all-apps-key-12345", "new-key-123456789")
            let keys = try workplace.write("keys.txt", "\(one) mine,other\n\(all) * # the relay\n")
            try withCollector(["--keys", keys], in: workplace) { collect, send in
                #expect(try send(session("mine"), nil).status == 401)
                #expect(try send(session("mine"), "wrong-key-1234567").status == 401)
                #expect(try send(session("mine"), one).status == 202)
                #expect(try send(session("foreign"), one).status == 403)
                #expect(try send(session("foreign"), all).status == 202)
                let mixed = try send("[\(session("foreign")),\(session("other"))]", one)
                #expect(mixed.status == 202)
                #expect(try rejected(mixed) == ["0 wrong_app"])
                // A file that cannot be used changes nothing.
                _ = try workplace.write("keys.txt", "short *\n")
                collect.signal(SIGHUP)
                _ = try collect.line(with: "keys kept as they were")
                #expect(try send(session("mine"), one).status == 202)
                _ = try workplace.write("keys.txt", "\(new) mine\n")
                collect.signal(SIGHUP)
                _ = try collect.line(with: "keys read again")
                #expect(try send(session("mine"), one).status == 401)
                #expect(try send(session("mine"), new).status == 202)
            }
        }
    }

    @Test("refuses uploads that are too large, whole, and events that are too large, alone")
    func sizes() throws {
        try withWorkplace { workplace in
            try withCollector(in: workplace) { _, send in
                let thousand = Array(repeating: session("app"), count: 1_000)
                let most = try send("[\(thousand.joined(separator: ","))]", nil)
                #expect(most.status == 202)
                #expect(DocumentReader().read(most.body)?["accepted"]?.integer == 1_000)
                let more = (thousand + [session("app")]).joined(separator: ",")
                #expect(try send("[\(more)]", nil).status == 413)
                let lines = (thousand + [session("app")]).joined(separator: "\n")
                #expect(try send(lines, nil).status == 413)
                let blank = String(repeating: " ", count: 1 << 20)
                #expect(try send(session("app") + blank, nil).status == 413)
                let long = session(
                    "app", more: #","note":"\#(String(repeating: "x", count: 16_400))""#)
                let mixed = try send("[\(session("app")),\(long),\(session("app"))]", nil)
                #expect(mixed.status == 202)
                #expect(try rejected(mixed) == ["1 too_large"])
            }
            let log = try workplace.open()
            defer { log.close() }
            let events = try log.stored(.session).map { record in
                DocumentReader().read(record.value)?.array?.count ?? 1
            }
            #expect(events.reduce(0, +) == 1_002, "nothing of what was refused is in the log")
        }
    }

    @Test("says of each bad event what is wrong, and sets it aside")
    func badEvents() throws {
        try withWorkplace { workplace in
            try withCollector(in: workplace) { _, send in
                for text in ["", "   ", "{", "[1,", "nonsense"] {
                    #expect(try send(text, nil).status == 400, "\(text)")
                }
                let events = [
                    session("app"), #"{"type":"purchase","app":"app","id":"p1"}"#,
                    session("no such app"), #"{"type":"crash","app":"app","at":"noon"}"#, "7",
                    #"{"app":"app"}"#,
                ]
                let answer = try send("[\(events.joined(separator: ","))]", nil)
                #expect(answer.status == 202)
                #expect(DocumentReader().read(answer.body)?["accepted"]?.integer == 1)
                let reasons = try rejected(answer)
                #expect(
                    reasons == [
                        "1 unknown_type", "2 bad_app", "3 bad_time", "4 not_an_object",
                        "5 unknown_type",
                    ])
            }
            let log = try workplace.open()
            defer { log.close() }
            let letters = try log.stored(.dead).map { DocumentReader().read($0.value) }
            #expect(
                letters.map { $0?["reason"]?.text } == [
                    "unknown_type", "bad_app", "bad_time", "not_an_object", "unknown_type",
                ])
            #expect(letters.first??["id"]?.text == "p1")
            #expect(letters.first??["text"]?.text?.contains("purchase") == true)
        }
    }

    @Test("takes what is packed")
    func packed() throws {
        // gzip of two sessions of the app `zipped`.
        let text =
            "H4sIAAAAAAACA4uuViqpLEhVslIqTi0uzszPU9JRSiwoAPKrMgsKUlOAXJgEUImhUq0OSRqMlGpjAfuToeRj"
            + "AAAA"
        let bytes = try #require(Data(base64Encoded: text)).map { $0 }
        try withWorkplace { workplace in
            try withCollector(in: workplace) { collect, _ in
                let url = "\(try collect.address())/v1/events"
                func send(_ body: [UInt8], _ encoding: String) throws -> HTTPResponse {
                    let headers = [(name: "Content-Encoding", value: encoding)]
                    return try HTTPConnection().send(.post(url, headers: headers, body: body))
                }
                let answer = try send(bytes, "gzip")
                #expect(answer.status == 202 && answer.text.contains(#""accepted":2"#))
                #expect(try send(bytes.dropLast(9), "gzip").status == 400)
                #expect(try send(bytes, "br").status == 415)
            }
        }
    }
}
