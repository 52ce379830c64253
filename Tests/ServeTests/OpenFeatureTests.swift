// Flags by the OpenFeature Remote Evaluation Protocol: what each says in each state, and to whom.
import BrakeModel
import BrakeWire
import HTTPServer
import Serve
import Testing

@Suite struct OpenFeatureTests {
    private static let flags = [
        "ad_throttle_state", "ads_interstitial", "ads_banner", "ads_rewarded", "ad_caps",
    ]
    /// Of the golden vectors: bucket 5 000 or above, and below it.
    private let spared: String
    private let other: String

    init() throws {
        let app = try #require(AppID("shop"))
        let people = (0..<100).map { "person-\($0)" }
        spared = try #require(people.first { !CautionSample.allows($0, in: app) })
        other = try #require(people.first { CautionSample.allows($0, in: app) })
    }

    private func ready(_ state: ThrottleState) throws -> EdgeWorld {
        let world = EdgeWorld()
        try world.throttle("shop", state, revision: 3)
        try world.epoch(1)
        world.start()
        try world.waitUntilReady()
        return world
    }

    private func evaluate(
        _ world: EdgeWorld, _ flag: String? = nil, _ context: String,
        _ headers: [(name: String, value: String)] = []
    ) throws -> (Response, JSONValue?) {
        let path = "/ofrep/v1/evaluate/flags" + (flag.map { "/" + $0 } ?? "")
        let response = try world.post(path, "{\"context\":\(context)}", headers)
        return (response, DocumentReader().read(response.bytes))
    }

    private func value(
        _ world: EdgeWorld, _ flag: String, _ context: String
    ) throws -> JSONValue {
        let (response, document) = try evaluate(world, flag, context)
        #expect(response.status == 200)
        #expect(document?["key"]?.text == flag)
        return document?["value"] ?? .null
    }

    @Test(
        "each flag says what the table of states has",
        arguments: [
            (.normal, true, true, true, true, 3), (.caution, nil, true, true, true, 3),
            (.throttle, false, true, false, true, 0), (.halt, false, false, false, false, 0),
        ] as [(ThrottleState, Bool?, Bool, Bool, Bool, Int64)])
    func table(
        _ state: ThrottleState, interstitial: Bool?, banner: Bool, rewarded: Bool, asked: Bool,
        perHour: Int64
    ) throws {
        let world = try ready(state)
        for person in [spared, other] {
            let context = "{\"targetingKey\":\"\(person)\",\"app\":\"shop\"}"
            let asking = "{\"targetingKey\":\"\(person)\",\"app\":\"shop\",\"user_initiated\":true}"
            #expect(try value(world, "ad_throttle_state", context) == .text(state.name))
            #expect(
                try value(world, "ads_interstitial", context)
                    == .bool(interstitial ?? (person == other)))
            #expect(try value(world, "ads_banner", context) == .bool(banner))
            #expect(try value(world, "ads_rewarded", context) == .bool(rewarded))
            #expect(try value(world, "ads_rewarded", asking) == .bool(asked))
            #expect(try value(world, "ad_caps", context)["per_hour"]?.integer == perHour)
        }
    }

    @Test func `an answer tells its variant, its reason and what is behind it`() throws {
        let world = try ready(.caution)
        let context = "{\"targetingKey\":\"\(spared)\",\"app\":\"shop\"}"
        let document = try #require(try evaluate(world, "ads_interstitial", context).1)
        #expect(document["variant"]?.text == "off")
        #expect(document["reason"]?.text == "SPLIT")
        #expect(document["metadata"]?["state"]?.text == "Caution")
        #expect(document["metadata"]?["revision"]?.integer == 3)
        #expect(document["metadata"]?["stale"] == .bool(false))
        let banner = try evaluate(world, "ads_banner", context).1
        #expect(banner?["reason"]?.text == "TARGETING_MATCH")
        let unknown = try evaluate(world, "ad_throttle_state", "{\"app\":\"nobody\"}").1
        #expect(unknown?["reason"]?.text == "DEFAULT")
        #expect(unknown?["value"]?.text == "Caution")
        world.time.pass(milliseconds: 20_000)
        #expect(try evaluate(world, "ads_banner", context).1?["reason"]?.text == "STALE")
        try world.throttle("shop", .normal, revision: 4)
        try Wait.until { try world.state(of: "shop") == "Normal rule" }
        world.time.pass(milliseconds: 900_001)
        #expect(try evaluate(world, "ads_interstitial", context).1?["reason"]?.text == "DEFAULT")
    }

    @Test func `caps follow the country and the annoyance of the context`() throws {
        let world = try ready(.normal)
        for (nf, perHour) in [("1", 2), ("\"1\"", 2), ("2", 1), ("-1", 1), ("1.5", 1), ("true", 1)]
            as [(String, Int64)]
        {
            let caps = try value(world, "ad_caps", "{\"app\":\"shop\",\"nf\":\(nf)}")
            #expect(caps["per_hour"]?.integer == perHour, "\(nf)")
        }
    }

    @Test func `all flags come at once, with a validator that changes with what they say`() throws {
        let world = try ready(.normal)
        let replica = world.replica()
        replica.start()
        try replica.waitUntilReady()
        let context = "{\"targetingKey\":\"\(spared)\",\"app\":\"shop\"}"
        let (response, document) = try evaluate(world, nil, context)
        let flags = try #require(document?["flags"]?.array)
        #expect(flags.compactMap { $0["key"]?.text } == Self.flags)
        #expect(document?["metadata"]?["state"]?.text == "Normal")
        let tag = try #require(response.headers["ETag"])
        world.time.pass(milliseconds: 3_000)
        #expect(try evaluate(replica, nil, context).0.headers["ETag"] == tag)
        let unchanged = try evaluate(world, nil, context, [("If-None-Match", tag)]).0
        #expect(unchanged.status == 304)
        #expect(unchanged.bytes.isEmpty)
        try world.throttle("shop", .halt, revision: 4)
        try Wait.until { try world.state(of: "shop") == "Halt rule" }
        #expect(try evaluate(world, nil, context, [("If-None-Match", tag)]).0.status == 200)
    }

    @Test func `without a person, Caution has no answer for ads between screens, all else has`()
        throws
    {
        let world = try ready(.caution)
        let (response, document) = try evaluate(world, "ads_interstitial", "{\"app\":\"shop\"}")
        #expect(response.status == 400)
        #expect(document?["errorCode"]?.text == "TARGETING_KEY_MISSING")
        #expect(document?["key"]?.text == "ads_interstitial")
        let all = try evaluate(world, nil, "{\"app\":\"shop\"}")
        #expect(all.0.status == 200)
        let codes = (all.1?["flags"]?.array ?? []).map { $0["errorCode"]?.text }
        #expect(codes == [nil, "TARGETING_KEY_MISSING", nil, nil, nil])
    }

    @Test(
        "what cannot be meant is answered as the protocol words it",
        arguments: [
            ("ads_banner", "", 400, "PARSE_ERROR"), ("ads_banner", "{", 400, "PARSE_ERROR"),
            ("ads_banner", "[]", 400, "PARSE_ERROR"), (nil, "nonsense", 400, "PARSE_ERROR"),
            ("ads_banner", "{}", 400, "INVALID_CONTEXT"), (nil, "{}", 400, "INVALID_CONTEXT"),
            ("ads_banner", #"{"context":{}}"#, 400, "INVALID_CONTEXT"),
            ("ads_banner", #"{"context":{"app":"a b"}}"#, 400, "INVALID_CONTEXT"),
            ("ads_banner", #"{"context":{"app":7}}"#, 400, "INVALID_CONTEXT"),
            (nil, #"{"context":{"app":"a","targetingKey":1}}"#, 400, "INVALID_CONTEXT"),
            ("none", #"{"context":{"app":"a"}}"#, 404, "FLAG_NOT_FOUND"),
        ] as [(String?, String, Int, String)])
    func refusals(_ flag: String?, _ body: String, _ status: Int, _ code: String) throws {
        let path = "/ofrep/v1/evaluate/flags" + (flag.map { "/" + $0 } ?? "")
        let response = try EdgeWorld().post(path, body, [("If-None-Match", "*")])
        #expect(response.status == status)
        let document = try #require(DocumentReader().read(response.bytes))
        #expect(document["errorCode"]?.text == code)
        #expect(document["errorDetails"]?.text?.isEmpty == false)
        #expect(document["key"]?.text == flag)
    }

    @Test func `an edge that knows nothing yet says Caution by default`() throws {
        let (response, document) = try evaluate(
            EdgeWorld(), "ad_throttle_state", "{\"app\":\"shop\"}")
        #expect(response.status == 200)
        #expect(document?["value"]?.text == "Caution")
        #expect(document?["reason"]?.text == "DEFAULT")
        #expect(document?["metadata"]?["cause"]?.text == "not_ready")
    }
}
