// What the admin listener answers, byte for byte as the contract's examples have it.
import Admin
import EventLog
import Foundation
import HTTPServer
import OpenAPITestSupport
import Runtime
import Testing

@Suite struct AdminDocumentTests {
    private static let examples = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "schemas/examples/valid")
    /// Between the times of the examples' records and the end of their override.
    private static let now: Int64 = 1_764_500_000_000
    private static let token = "0123456789abcdef"

    private let log = MemoryLog(
        partitions: 2, clock: LogClock { AdminDocumentTests.now })
    private let desk: AdminDesk

    init() throws {
        let tokens = try AdminTokens("\(Self.token) anna write\n")
        desk = AdminDesk(
            log: log, tokens: { tokens }, rehearse: { _, _ in [] },
            logger: Logger(part: "admin", to: NoSink()), metrics: Metrics(),
            wallMilliseconds: { Self.now })
    }

    private static func example(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: examples.appending(path: path)))
    }

    private func answer(_ target: String) throws -> [UInt8] {
        let target = try #require(RequestTarget(target))
        let headers = Headers([("Authorization", "Bearer \(Self.token)")])
        return Router(desk.routes).respond(to: Request(.get, target, headers: headers)).bytes
            + [0x0a]
    }

    @Test func `all that holds, and its history, are as the examples have them`() throws {
        let names = [
            "policy", "assignment-by-pattern", "override-of-all-apps", "override-of-one-app",
            "cap-of-the-fleet", "cap-of-an-app-in-a-country",
        ]
        for name in names {
            let value = try Self.example("control/\(name).json").dropLast()
            try log.append([
                OutgoingRecord(.control, partition: 0, key: nil, value: Array(value))
            ])
        }
        try log.append([
            OutgoingRecord(.control, partition: 0, key: nil, value: Array(#"{"v":1}"#.utf8))
        ])
        let overview = try answer("/v1/control")
        #expect(try overview == Self.example("control_overview/one-of-each.json"))
        let history = try answer("/v1/control/history")
        #expect(try history == Self.example("control_history/one-of-each-kind.json"))
    }

    private func post(_ body: [UInt8]) throws -> Response {
        let target = try #require(RequestTarget("/v1/control"))
        let headers = Headers([("Authorization", "Bearer \(Self.token)")])
        return Router(desk.routes).respond(
            to: Request(.post, target, headers: headers, body: body))
    }

    @Test func `a decision is taken if its schema allows it`() throws {
        for (kind, status) in [("valid", 201), ("invalid", 422)] {
            let folder = Self.examples.deletingLastPathComponent()
                .appending(path: "\(kind)/decision")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path())
            #expect(files.count > 1)
            for file in files.sorted() {
                let body = try Data(contentsOf: folder.appending(path: file))
                #expect(try post([UInt8](body)).status == status, "\(file)")
            }
        }
    }

    @Test func `what is refused tells all problems as the example has them`() throws {
        let body = #"{"type":"cap","app":"*","country":"*","per_hour":9,"per_day":3}"#
        let response = try post(Array(body.utf8))
        #expect(response.status == 422)
        #expect(
            try response.bytes + [0x0a] == Self.example("refused_decision/two-problems.json"))
    }

    @Test func `every route is in the OpenAPI document`() throws {
        #expect(try OpenAPIDocument().missing(of: desk.routes) == [])
    }
}
