// Streams, slow clients and stopping, over real sockets.
import Runtime
import Testing

@testable import HTTPServer

@Suite struct ListenerLifeTests {
    private static let line = "GET /stream HTTP/1.1\r\nHost: test\r\n\r\n"

    /// A route whose streams the test can reach, in the order in which they came.
    private static func streaming(
        _ streams: Monitor<[ResponseStream]>, ended: Monitor<Int> = Monitor(0),
        queueBytesMax: Int = 1 << 16
    ) -> Route {
        Route(.get, "/stream") { _ in
            let stream = ResponseStream(queueBytesMax: queueBytesMax) {
                ended.withLock { $0 += 1 }
            }
            stream.send(Array("hello".utf8))
            streams.withLock { $0.append(stream) }
            return .stream(stream)
        }
    }

    @Test(arguments: [HTTPListener.Settings.Threads.pool(2), .perConnection])
    func `Many clients each get every event, then the end`(
        threads: HTTPListener.Settings.Threads
    ) throws {
        let streams = Monitor<[ResponseStream]>([])
        let ended = Monitor(0)
        let listener = try ListenerTests.start(more: [Self.streaming(streams, ended: ended)]) {
            $0.threads = threads
        }
        defer { listener.stop() }
        let clients = try (0..<100).map { _ in try Client(port: listener.port) }
        for client in clients {
            client.send(Self.line)
            #expect(try client.head() == 200)
        }
        let all = streams.read { $0 }
        for number in 0..<20 {
            for stream in all { #expect(stream.send(Array("<\(number)>".utf8)) == .queued) }
        }
        for stream in all { stream.finish() }
        let expected = "hello" + (0..<20).map { "<\($0)>" }.joined()
        for client in clients {
            var text = ""
            while let chunk = try client.chunk() { text += String(decoding: chunk, as: UTF8.self) }
            #expect(text == expected)
        }
        #expect(ended.wait(milliseconds: 20_000) { $0 == 100 ? true : nil } == true)
    }

    @Test func `A push after a silence wakes the connection`() throws {
        let streams = Monitor<[ResponseStream]>([])
        let listener = try ListenerTests.start(more: [Self.streaming(streams)])
        defer { listener.stop() }
        let client = try Client(port: listener.port)
        client.send(Self.line)
        #expect(try client.head() == 200)
        #expect(try client.chunk() == Array("hello".utf8))
        for number in 0..<200 {
            streams.read { $0[0] }.send([UInt8(number)])
            #expect(try client.chunk() == [UInt8(number)])
        }
    }

    @Test func `A client that does not read is let go`() throws {
        let streams = Monitor<[ResponseStream]>([])
        let ended = Monitor(0)
        let listener = try ListenerTests.start(more: [Self.streaming(streams, ended: ended)]) {
            $0.idleSeconds = 1
        }
        defer { listener.stop() }
        let client = try Client(port: listener.port, receiveBufferBytes: 4_096)
        client.send(Self.line)
        #expect(try client.head() == 200)
        let stream = streams.read { $0[0] }
        let chunk = [UInt8](repeating: 1, count: 10_000)
        var outcome = ResponseStream.Sending.queued
        // Socket buffers may take some megabytes before the queue fills.
        for _ in 0..<100_000 where outcome == .queued { outcome = stream.send(chunk) }
        #expect(outcome == .overflowed)
        #expect(stream.send(chunk) == .ended)
        #expect(ended.wait(milliseconds: 20_000) { $0 == 1 ? true : nil } == true)
    }

    @Test func `A client that goes away is noticed at the next push`() throws {
        let streams = Monitor<[ResponseStream]>([])
        let ended = Monitor(0)
        let listener = try ListenerTests.start(more: [Self.streaming(streams, ended: ended)])
        defer { listener.stop() }
        do {
            let client = try Client(port: listener.port)
            client.send(Self.line)
            #expect(try client.head() == 200)
        }
        let stream = streams.read { $0[0] }
        // The first push may still fit the socket; the answer to it tells that nobody is there.
        for _ in 0..<1_000 where stream.send([1]) == .queued {
            _ = ended.wait(milliseconds: 20) { $0 == 1 ? true : nil }
        }
        #expect(ended.wait(milliseconds: 20_000) { $0 == 1 ? true : nil } == true)
    }

    @Test func `A sender who is too slow is cut off, whatever it sends`() throws {
        let listener = try ListenerTests.start {
            $0.idleSeconds = 1
            $0.receiveSeconds = 1
        }
        defer { listener.stop() }
        let silent = try Client(port: listener.port)
        let inLine = try Client(port: listener.port)
        let inHeaders = try Client(port: listener.port)
        let inBody = try Client(port: listener.port)
        inHeaders.send("GET /hello/a HTTP/1.1\r\n")
        inBody.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 90000\r\n\r\n")
        // A byte now and then keeps the library's own time-out away; the deadline must still come.
        let pause = StopSignal()
        var sending = [inLine, inHeaders, inBody]
        for _ in 0..<200 where !sending.isEmpty {
            sending.removeAll { !$0.send("x") }
            pause.wait(milliseconds: 100)
        }
        #expect(sending.isEmpty)
        #expect(silent.isClosedByServer())
    }

    @Test func `Who does not read the answer is cut off, however much it keeps alive`() throws {
        let metrics = Metrics()
        // More than the buffers of both sockets take.
        let body = [UInt8](repeating: 32, count: 24 << 20)
        let large = Route(.get, "/large") { _ in Response(200, body: body) }
        let listener = try ListenerTests.start(metrics: metrics, more: [large]) {
            $0.answerSeconds = 1
        }
        defer { listener.stop() }
        let client = try Client(port: listener.port, receiveBufferBytes: 4_096)
        client.send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(ListenerRefusalTests.count("slow", reaches: 1, metrics))
        // Who reads has all of it.
        let reader = try Client(port: listener.port)
        #expect(try reader.get("/large").body.count == 24 << 20)
        #expect(try reader.get("/hello/a").status == 200)
    }

    @Test func `Running requests are finished before the listener stops`() throws {
        let started = StopSignal()
        let release = StopSignal()
        let slow = Route(.get, "/slow") { _ in
            started.request(reason: "running")
            release.wait(milliseconds: 20_000)
            return .text("done")
        }
        let listener = try ListenerTests.start(more: [slow])
        let port = listener.port
        let client = try Client(port: port)
        let idle = try Client(port: port)
        #expect(try idle.get("/hello/a").status == 200)
        client.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(started.wait(milliseconds: 20_000))
        let stopping = WorkerThread(name: "stops") { listener.stop(withinMilliseconds: 20_000) }
        let pause = StopSignal()
        while !listener.isStopping { pause.wait(milliseconds: 1) }
        #expect(try Client(port: port).isClosedByServer())
        release.request(reason: "test")
        let answer = try client.answer()
        #expect(answer.text == "done")
        #expect(answer.headers["Connection"]?.lowercased() == "close")
        #expect(idle.isClosedByServer())
        stopping.join()
    }

    @Test func `It can be stopped at any moment, whoever is about to connect`() throws {
        for _ in 0..<100 {
            let listener = try ListenerTests.start { $0.threads = .pool(4) }
            let port = listener.port
            let end = StopSignal()
            let clients = (0..<3).map { number in
                WorkerThread(name: "client \(number)") {
                    while !end.isRequested {
                        guard let client = try? Client(port: port), client.isConnected else {
                            continue
                        }
                        client.send("GET /hello/a HTTP/1.1\r\nHost: test\r\n\r\n")
                    }
                }
            }
            _ = try Client(port: port).get("/hello/a")
            listener.stop()
            end.request(reason: "test")
            for client in clients { client.join() }
            #expect(try !Client(port: port).isConnected)
        }
    }

    @Test func `Streams end when the listener stops, and a half-sent request is cut`() throws {
        let streams = Monitor<[ResponseStream]>([])
        let log = CapturedLog()
        let listener = try ListenerTests.start(log: log, more: [Self.streaming(streams)])
        let clients = try (0..<10).map { _ in try Client(port: listener.port) }
        for client in clients {
            client.send(Self.line)
            #expect(try client.head() == 200)
        }
        let half = try Client(port: listener.port)
        half.send("POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n123")
        #expect(listener.running.wait(milliseconds: 20_000) { $0 == 1 ? true : nil } == true)
        listener.stop(withinMilliseconds: 50)
        for client in clients {
            #expect(try client.chunk() == Array("hello".utf8))
            #expect(try client.chunk() == nil)
        }
        #expect(half.isClosedByServer())
        #expect(log.line("requests were cut off") != nil)
        #expect(listener.connections.count == 0)
        #expect(streams.read { $0[0] }.send([1]) == .ended)
    }

    @Test func `A connection over the limit is closed, and others go on`() throws {
        let listener = try ListenerTests.start {
            $0.connectionsMax = 8
            $0.threads = .pool(1)
        }
        defer { listener.stop() }
        let clients = try (0..<8).map { _ in try Client(port: listener.port) }
        for client in clients { #expect(try client.get("/hello/a").status == 200) }
        _ = try Client(port: listener.port)
        for client in clients { #expect(try client.get("/hello/a").status == 200) }
    }

    @Test func `As a service it listens until asked to stop`() throws {
        let log = CapturedLog()
        let listener = HTTPListener(
            "edge", .init(address: ListenAddress(host: "127.0.0.1", port: 0)),
            router: Router([]), log: Logger(part: "http", to: log), metrics: Metrics())
        let stop = StopSignal()
        let group = ServiceGroup(
            [Service("edge") { try listener.run(stop: $0) }],
            log: Logger(part: "run", to: log))
        let status = Monitor<Int32?>(nil)
        let thread = WorkerThread(name: "group") {
            let result = group.run(stop: stop)
            status.withLock { $0 = result }
        }
        #expect(log.line("listening", waitMilliseconds: 20_000) != nil)
        #expect(try Client(port: listener.port).get("/").status == 404)
        stop.request(reason: "test")
        thread.join()
        #expect(status.read { $0 } == 0)
    }
}
