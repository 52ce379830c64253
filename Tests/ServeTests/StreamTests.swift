// The stream of changes over real sockets: start, live, resume, reset, slow clients, limits, ends.
import BrakeModel
import BrakeWire
import EventLog
import HTTPServer
import Runtime
import Serve
import Testing

@Suite struct StreamTests {
    /// Runs the body with a world that is ready and listens on a port.
    private func serving(
        _ settings: ServeSettings = ServeSettings(), partitions: Int = 4,
        before prepare: (EdgeWorld) throws -> Void = { _ in }, isReady: Bool = true,
        _ body: (EdgeWorld, UInt16) throws -> Void
    ) throws {
        let world = EdgeWorld(partitions: partitions, settings: settings)
        try prepare(world)
        if isReady {
            world.start()
            try world.waitUntilReady()
        }
        let listener = HTTPListener(
            "edge", HTTPListener.Settings(address: try #require(ListenAddress("127.0.0.1:0"))),
            router: world.router, log: Logger(part: "test", to: world.sink),
            metrics: world.metrics)
        try listener.start()
        defer { listener.stop() }
        try body(world, listener.port)
    }

    private func app(_ event: StreamClient.Event) throws -> (app: String, state: String) {
        let data = try #require(event.data)
        let document = try #require(DocumentReader().read(Array(data.utf8)))
        return (document["app"]?.text ?? "?", document["state"]?.text ?? "?")
    }

    @Test func `a new client gets a retry time, the states that are not Normal, and changes live`()
        throws
    {
        try serving(before: { world in
            try world.throttle("calm", .normal, revision: 1)
            try world.throttle("wary", .caution, revision: 1)
            try world.throttle("shop", .halt, revision: 1)
        }) { world, port in
            let client = try StreamClient(port: port)
            #expect(client.status == 200)
            let retry = try #require(try client.next()?.retry)
            #expect((1_000...16_000).contains(retry))
            let reset = try client.next("reset")
            #expect(reset.data == #"{"apps":2,"states":2,"complete":true}"#)
            #expect(try app(client.next("throttle")) == ("shop", "Halt"))
            #expect(try app(client.next("throttle")) == ("wary", "Caution"))
            try world.throttle("calm", .throttle, revision: 2)
            let live = try client.next("throttle")
            #expect(try app(live) == ("calm", "Throttle"))
            #expect(live.id != reset.id)
            let document = try #require(DocumentReader().read(Array((live.data ?? "").utf8)))
            #expect(document["why"]?["windows"]?.array?.count == 3)
            #expect(document["caps"] != nil)
            try world.tombstone("shop")
            #expect(try app(client.next("throttle")) == ("shop", "Caution"))
            try world.notice("hello", app: "shop")
            #expect(try client.next("notice").data?.contains("hello") == true)
        }
    }

    @Test func `a client that comes back gets what it missed, on any replica`() throws {
        try serving { world, port in
            var client: StreamClient? = try StreamClient(port: port)
            _ = try client?.next("reset")
            try world.throttle("a", .halt, revision: 1)
            let seen = try #require(try client?.next("throttle").id)
            client = nil
            try world.throttle("b", .halt, revision: 1)
            try world.throttle("a", .throttle, revision: 2)
            try world.throttle("a", .caution, revision: 3)
            try Wait.until { try world.state(of: "a") == "Caution rule" }
            let back = try StreamClient(port: port, lastEventID: seen)
            #expect(try back.next()?.retry != nil)
            var states: [String] = []
            var last = seen
            for _ in 0..<3 {
                let event = try #require(try back.next())
                #expect(event.name == "throttle")
                #expect(event.id != last)
                last = try #require(event.id)
                let (app, state) = try app(event)
                states.append("\(app) \(state)")
            }
            #expect(states.filter { $0.hasPrefix("a") } == ["a Throttle", "a Caution"])
            #expect(states.contains("b Halt"))
            // With nothing missed there is nothing to be told.
            let again = try StreamClient(port: port, lastEventID: last)
            #expect(try again.next()?.retry != nil)
            #expect(try again.next()?.name == "age")
        }
    }

    @Test(arguments: ["0.0.0.0", "", "x", "0", "1.2.3.4.5", "zzzzzzzzzzzzzzzzzzz", "-1.0.0.0"])
    func `a position that is forgotten, or none, begins with a reset`(_ id: String) throws {
        try serving(before: { world in
            try world.throttle("a", .halt, revision: 1)
        }) { _, port in
            let client = try StreamClient(port: port, lastEventID: id)
            #expect(try client.next()?.retry != nil)
            #expect(try client.next()?.name == "reset")
            #expect(try app(client.next("throttle")) == ("a", "Halt"))
        }
    }

    @Test func `nobody goes on before the log has been read, not even from the beginning`() throws {
        try serving(isReady: false) { world, port in
            let client = try StreamClient(port: port, lastEventID: "0.0.0.0")
            #expect(try client.next()?.retry != nil)
            #expect(try client.next()?.name == "reset")
            try world.throttle("a", .halt, revision: 1)
            world.start()
            #expect(try client.next("reset").data == #"{"apps":1,"states":1,"complete":true}"#)
            #expect(try app(client.next("throttle")) == ("a", "Halt"))
        }
    }

    @Test func `a filter gives the apps asked for, whatever their state, and no others`() throws {
        try serving(before: { world in
            try world.throttle("a", .normal, revision: 1)
            try world.throttle("b", .halt, revision: 1)
        }) { world, port in
            let client = try StreamClient(port: port, "/v1/stream?app=a,new")
            #expect(try app(client.next("throttle")) == ("a", "Normal"))
            #expect(try app(client.next("throttle")) == ("new", "Caution"))
            try world.throttle("b", .throttle, revision: 2)
            try world.throttle("new", .halt, revision: 1)
            #expect(try app(client.next("throttle")) == ("new", "Halt"))
        }
    }

    @Test func `heartbeats come while nothing happens, and streams end at their age`() throws {
        var settings = ServeSettings()
        settings.streams.heartbeatMilliseconds = 1
        settings.streams.ageMilliseconds = 2_000
        settings.streams.ageJitterMilliseconds = 0
        try serving(settings) { world, port in
            let client = try StreamClient(port: port)
            _ = try client.next("reset")
            var beats = 0
            while let event = try client.next() {
                if event.comment == "heartbeat" {
                    beats += 1
                    #expect(event.id != nil)
                }
            }
            #expect(beats > 0)
            try Wait.until {
                world.metric("adbrake_serve_stream_ends_total{reason=\"age\"}") == 1
            }
            #expect(world.metric("adbrake_serve_streams") == 0)
        }
    }

    @Test func `a client that does not read is let go, and nobody waits for it`() throws {
        var settings = ServeSettings()
        settings.streams.queueBytesMax = 16 << 10
        try serving(settings) { world, port in
            let slow = try StreamClient(port: port, receiveBufferBytes: 2_048)
            let other = try StreamClient(port: port)
            _ = try other.next("reset")
            let ended = "adbrake_serve_stream_ends_total{reason=\"slow\"}"
            var revision: Int64 = 0
            try Wait.until {
                revision += 1
                // Several at a time, or the sockets' own memory takes long to fill; together they
                // fit the queue of the one who reads.
                for number in 0..<8 {
                    try world.throttle("shop\(number)", .halt, revision: revision)
                }
                for _ in 0..<8 { _ = try other.next("throttle") }
                return world.metric(ended) == 1
            }
            #expect(slow.status == 200)
            try world.throttle("shop", .caution, revision: 1)
            #expect(try app(other.next("throttle")) == ("shop", "Caution"))
        }
    }

    @Test func `more clients than the limit are asked to come back`() throws {
        var settings = ServeSettings()
        settings.streams.clientsMax = 2
        try serving(settings) { world, port in
            var clients = try (0..<2).map { _ in try StreamClient(port: port) }
            #expect(clients.allSatisfy { $0.status == 200 })
            let refused = try world.get("/v1/stream")
            #expect(refused.status == 503)
            #expect(refused.headers["Retry-After"] != nil)
            #expect(try StreamClient(port: port).status == 503)
            clients.removeLast()
            // A beat later the listener has seen that the client is gone.
            try world.throttle("shop", .halt, revision: 1)
            try Wait.until { try StreamClient(port: port).status == 200 }
        }
    }

    @Test func `a start with very many states stays within the queue`() throws {
        try serving(before: { world in
            for index in 0..<2_000 {
                try world.throttle(
                    "app-\(index)", index == 1_999 ? .halt : .caution, revision: 1)
            }
        }) { _, port in
            let client = try StreamClient(port: port)
            let reset = try client.next("reset")
            let data = try #require(
                DocumentReader().read(Array((reset.data ?? "").utf8)))
            #expect(data["apps"]?.integer == 2_000)
            #expect(data["complete"] == .bool(false))
            let states = try #require(data["states"]?.integer)
            #expect((1...200).contains(states))
            #expect(try app(client.next("throttle")) == ("app-1999", "Halt"))
        }
    }

    @Test func `ten thousand dropped clients come back spread over the jitter window`() {
        let settings = StreamSettings()
        let draws = (0..<10_000).map { _ in settings.drawRetryMilliseconds() }
        let window =
            settings.retryMilliseconds...settings.retryMilliseconds
            + settings.retryJitterMilliseconds
        #expect(draws.allSatisfy { window.contains($0) })
        let bySecond = Dictionary(grouping: draws) { $0 / 1_000 }.mapValues(\.count)
        // 15 s: a fifteenth is 667; the bound is eight deviations above it.
        #expect(bySecond.values.allSatisfy { $0 < 870 }, "\(bySecond)")
        #expect(bySecond.filter { $0.value > 470 }.count >= 15)
    }
}
