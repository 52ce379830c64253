// The admin listener's routes over a log in memory: who may, what is refused and why, what is
// written.
import Admin
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Runtime
import Synchronization
import Testing

@Suite struct AdminDeskTests {
    private static let now: Int64 = 1_800_000_000_000
    private static let writer = "0123456789abcdef"
    private static let reader = "fedcba9876543210"

    private let log = MemoryLog(partitions: 2)
    private let routes: [Route]
    /// What was rehearsed: how many overrides and assignments there would have been.
    private let rehearsed = Counts()

    final class Counts: Sendable {
        let counts = Mutex<[Int]>([])
    }

    init() throws {
        let tokens = try AdminTokens(
            "\(Self.writer) anna write\n\(Self.reader) ben read\n")
        let rehearsed = rehearsed
        let desk = AdminDesk(
            log: log, tokens: { tokens },
            rehearse: { now, then in
                rehearsed.counts.withLock { counts in
                    counts.append(now.assignments.count)
                    counts.append(then.assignments.count)
                }
                return Array(#"{"dry_run":true}"#.utf8)
            },
            logger: Logger(part: "admin", to: NoSink()), metrics: Metrics(),
            wallMilliseconds: { Self.now })
        routes = desk.routes
    }

    private var router: Router { Router(routes) }

    private func ask(
        _ method: Method, _ target: String, token: String? = AdminDeskTests.writer,
        _ body: String = ""
    ) throws -> (status: Int, document: JSONValue) {
        let headers = Headers(token.map { [("Authorization", "Bearer \($0)")] } ?? [])
        let target = try #require(RequestTarget(target))
        let response = router.respond(
            to: Request(method, target, headers: headers, body: Array(body.utf8)))
        #expect(response.headers["Cache-Control"] == "no-store")
        return (response.status, DocumentReader().read(response.bytes) ?? .null)
    }

    private func decide(_ body: String) throws -> (status: Int, document: JSONValue) {
        try ask(.post, "/v1/control", body)
    }

    private func problems(_ body: String) throws -> [String] {
        let (status, document) = try decide(body)
        #expect(status == 422)
        return (document["problems"]?.array ?? []).map {
            "\($0["path"]?.text ?? ""): \($0["text"]?.text ?? "")"
        }
    }

    private var count: Int64 { log.bounds(of: TopicPartition(.control, 0)).upperBound }

    private static let policy =
        #"{"type":"policy","name":"mine","reason":"r","document":{"name":"mine","version":2,"#
        + #""rules":[{"name":"a","state":"Halt","window_s":60,"crashes_at_least":3}]}}"#

    @Test func `only who has a token sees, only who may write decides`() throws {
        let pin = #"{"type":"override","app":"*","mode":"pin","state":"Halt","reason":"r"}"#
        #expect(try ask(.get, "/v1/control", token: nil).status == 401)
        #expect(try ask(.get, "/v1/control", token: "0123456789abcdee").status == 401)
        #expect(try ask(.get, "/v1/control", token: Self.reader).status == 200)
        #expect(try ask(.post, "/v1/control", token: nil, pin).status == 401)
        #expect(try ask(.post, "/v1/control", token: Self.reader, pin).status == 403)
        #expect(count == 0)
        #expect(try ask(.post, "/v1/control", pin).status == 201)
        #expect(count == 1)
    }

    @Test func `a decision is written with its author, and listed with who, when and why`() throws {
        let end = Self.now + 60_000
        let answer = try decide(
            #"{"type":"override","app":"my.app","mode":"at_least","state":"Caution","#
                + #""expires_at":\#(end),"reason":"SDK 9"}"#)
        #expect(answer.status == 201)
        #expect(answer.document["by"]?.text == "anna")
        #expect(try decide(Self.policy).status == 201)
        #expect(
            try decide(#"{"type":"assignment","apps":"my.*","policy":"mine","reason":"r"}"#).status
                == 201)
        #expect(
            try decide(
                #"{"type":"cap","app":"*","country":"DE","per_hour":2,"per_day":6,"reason":"r"}"#
            ).status == 201)
        let list = try ask(.get, "/v1/control", token: Self.reader).document
        let override = try #require(list["overrides"]?.array?.first)
        #expect(override["app"]?.text == "my.app")
        #expect(override["by"]?.text == "anna")
        #expect(override["at"]?.integer == Self.now)
        #expect(override["reason"]?.text == "SDK 9")
        #expect(override["in_force"] == .bool(true))
        #expect(list["assignments"]?.array?.first?["policy"]?.text == "mine")
        #expect(list["policies"]?.array?.first?["version"]?.integer == 2)
        #expect(list["caps"]?.array?.first?["per_day"]?.integer == 6)
        let policy = try ask(.get, "/v1/control/policies/mine").document
        #expect(policy["rules"]?.array?.count == 1)
        let history = try ask(.get, "/v1/control/history?limit=2").document["history"]?.array
        #expect(history?.map { $0["type"]?.text } == ["cap", "assignment"])
        // The record in the topic is what stages read.
        let release = #"{"type":"override","app":"my.app","removed":true,"reason":"ok"}"#
        #expect(try decide(release).status == 201)
        #expect(try ask(.get, "/v1/control").document["overrides"]?.array?.isEmpty == true)
    }

    @Test func `a limit of the history is a number or nothing`() throws {
        for (limit, status) in [("", 200), ("7", 200), ("0", 400), ("-1", 400), ("many", 400)] {
            #expect(try ask(.get, "/v1/control/history?limit=\(limit)").status == status)
        }
    }

    @Test func `a record that somebody else has written wrongly is shown as ignored`() throws {
        try log.append([
            OutgoingRecord(.control, partition: 0, key: nil, value: Array(#"{"v":1}"#.utf8))
        ])
        let ignored = try ask(.get, "/v1/control").document["ignored"]?.array
        #expect(ignored?.first?["offset"]?.integer == 0)
        let history = try ask(.get, "/v1/control/history").document["history"]?.array
        #expect(history?.first?["ignored"]?.text?.contains("type: expected") == true)
    }

    @Test func `what is wrong is refused with every reason, and nothing is written`() throws {
        #expect(
            try problems(
                #"{"type":"override","app":"*","mode":"pin","state":"halt","by":"eve","at":3}"#)
                == [
                    "by: not expected: the listener puts it in",
                    "at: not expected: the listener puts it in",
                    "state: expected one of Normal, Caution, Throttle, Halt, found \"halt\"",
                    "reason: missing; expected 1 to 500 characters",
                ])
        #expect(
            try problems(
                #"{"type":"policy","name":"p","reason":"r","document":{"name":"p","version":1,"#
                    + #""rules":[{"name":"a b","state":"Halt","window_s":61}]}}"#
            ).count == 3)
        #expect(
            try problems(#"{"type":"assignment","apps":"a*","policy":"none","reason":"r"}"#)
                == ["policy: no policy of this name; there are article, default"])
        #expect(
            try problems(
                #"{"type":"override","app":"*","mode":"pin","state":"Halt","expires_at":5,"#
                    + #""reason":"r"}"#)
                == ["expires_at: expected a time after now, \(Self.now)"])
        for (type, subject) in [
            ("override", #""app":"*""#), ("assignment", #""apps":"*""#), ("policy", #""name":"x""#),
            ("cap", #""app":"*","country":"*""#),
        ] {
            let body = #"{"type":"\#(type)",\#(subject),"removed":true,"reason":"r"}"#
            #expect(try problems(body).count == 1, "nothing is there to remove")
        }
        #expect(try decide("{").status == 400)
        #expect(count == 0)
    }

    @Test func `a policy in use is not removed, nor replaced under the same version`() throws {
        #expect(try decide(Self.policy).status == 201)
        let other = Self.policy.replacing(#""crashes_at_least":3"#, with: #""crashes_at_least":4"#)
        #expect(
            try problems(other)
                == ["document.version: expected more than 2: other rules have had that version"])
        #expect(try decide(Self.policy).status == 201, "the same again is no other")
        #expect(
            try decide(#"{"type":"assignment","apps":"a*","policy":"mine","reason":"r"}"#).status
                == 201)
        let removal = #"{"type":"policy","name":"mine","removed":true,"reason":"r"}"#
        #expect(try problems(removal) == ["name: still assigned to a*"])
        #expect(
            try decide(#"{"type":"assignment","apps":"a*","removed":true,"reason":"r"}"#).status
                == 201)
        #expect(try decide(removal).status == 201)
    }

    @Test func `a dry run is checked and rehearsed, and writes nothing`() throws {
        let body = #"{"type":"assignment","apps":"a*","policy":"article","reason":"r"}"#
        #expect(try ask(.post, "/v1/control?dry_run=1", body).document["dry_run"] == .bool(true))
        #expect(rehearsed.counts.withLock { $0 } == [0, 1])
        #expect(try ask(.post, "/v1/control?dry_run=1", "{}").status == 422)
        #expect(count == 0)
    }

    @Test func `a log that fails is told as such, and asked again`() throws {
        log.failAppends([.before])
        let pin = #"{"type":"override","app":"*","mode":"pin","state":"Halt","reason":"r"}"#
        #expect(try decide(pin).status == 503)
        #expect(try decide(pin).status == 201)
    }
}

/// Lines that nobody reads.
struct NoSink: LogSink {
    func write(_ line: LogLine) {}
}
