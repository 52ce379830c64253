// The collector's promises: what an answer means, what is refused and why.
import BrakeWire
import Collect
import EventLog
import HTTPServer
import Runtime
import Testing

@Suite struct CollectorTests {
    private static let session = #"{"type":"session","app":"mine","session":"s1"}"#

    @Test func `An upload is acknowledged once the log has it`() throws {
        let world = try GateWorld()
        let answer = try world.upload(Self.session)
        #expect(answer.status == 202)
        #expect(answer.text == #"{"accepted":1,"rejected":[]}"#)
        #expect(try world.events(.session).count == 1)
    }

    @Test func `A log that fails is answered with 503 and a time, and nothing is acknowledged`()
        throws
    {
        let world = try GateWorld()
        world.log.failAppends([.before])
        let answer = try world.upload(Self.session)
        #expect(answer.status == 503)
        #expect(answer.why == "log")
        #expect(answer.headers["Retry-After"] == "1")
        #expect(try world.events(.session).isEmpty)
        #expect(try world.upload(Self.session).status == 202)
    }

    @Test func `With no room for another upload it is refused, and room comes back`() throws {
        let world = try GateWorld { $0.waitingUploadsMax = 0 }
        let answer = try world.upload(Self.session)
        #expect(answer.status == 503)
        #expect(answer.why == "queue_full")
        #expect(answer.headers["Retry-After"] != nil)
        let roomy = try GateWorld { $0.waitingUploadsMax = 1 }
        for _ in 0..<3 { #expect(try roomy.upload(Self.session).status == 202) }
    }

    // MARK: Keys

    @Test func `A key is for its apps; without one nothing is told of the apps`() throws {
        let key = "key-of-one-app-0001"
        let world = try GateWorld(keys: "\(key) mine,other\n")
        #expect(try world.upload(Self.session).why == "no_key")
        let wrong = try world.upload(Self.session, key: "key-of-one-app-0002")
        #expect(wrong.status == 401 && wrong.why == "unknown_key")
        #expect(wrong.headers["WWW-Authenticate"] == "Bearer")
        #expect(try world.upload(Self.session, key: key).status == 202)
        let foreign = #"{"type":"session","app":"theirs","session":"s1"}"#
        #expect(try world.upload(foreign, key: key).why == "wrong_app")
        #expect(world.lines.text.contains(key) == false)
    }

    @Test(arguments: [
        ("short *", "line 1: a key has 16 to 256 bytes"),
        ("\n0123456789abcdef", "line 2: expected a key, a space, and apps or *"),
        ("0123456789abcdef no/app", "line 1: no/app is not an app id"),
        ("0123456789abcdef a rate=fast", "line 1: rate is none, or 1 to 100000000 events a second"),
        ("0123456789abcdef a project=x:a", "line 1: project is NUMBER:APP,NUMBER:APP"),
        ("0123456789abcdef a project=1:b", "line 1: b is not among the apps of the key"),
        (
            "0123456789abcdef a color=red",
            "line 1: after the apps, only rate=... and project=... are known"
        ),
        ("0123456789abcdef a\n0123456789abcdef b", "line 2: the same key as on a line before"),
    ])
    func `A mistake in the keys file is told by its line, without the key`(
        text: String, problem: String
    ) {
        let found = #expect(throws: CollectorKeys.Problem.self) { try CollectorKeys(text) }
        #expect(found?.description == problem)
    }

    // MARK: Rates

    @Test func `A key brings ten seconds' worth at once and then what its rate allows`() throws {
        let (slow, free) = ("key-with-a-rate-001", "key-without-rate-01")
        let world = try GateWorld(keys: "\(slow) * rate=10 # slow\n\(free) * rate=none\n") {
            $0.keyRate = 1
        }
        let ten = "[" + Array(repeating: Self.session, count: 10).joined(separator: ",") + "]"
        // A hundred, and the eleventh upload finds the allowance used up.
        for _ in 0..<11 { #expect(try world.upload(ten, key: slow).status == 202) }
        let over = try world.upload(ten, key: slow)
        #expect(over.status == 429 && over.why == "key_rate")
        #expect(over.headers["Retry-After"] == "1")
        for _ in 0..<50 { #expect(try world.upload(ten, key: free).status == 202) }
        world.time.move(seconds: 1.1)
        #expect(try world.upload(ten, key: slow).status == 202)
        #expect(try world.events(.session).count == 620)
    }

    @Test func `An address has a rate of its own, and half an IPv6 address counts as one`() throws {
        let world = try GateWorld { $0.addressRate = 1 }
        for _ in 0..<11 { #expect(try world.upload(Self.session, from: "10.0.0.1").status == 202) }
        #expect(try world.upload(Self.session, from: "10.0.0.1").why == "address_rate")
        #expect(try world.upload(Self.session, from: "10.0.0.2").status == 202)
        for host in 0..<11 {
            #expect(try world.upload(Self.session, from: "2001:db8::\(host)").status == 202)
        }
        #expect(try world.upload(Self.session, from: "2001:db8::ffff").why == "address_rate")
        #expect(try world.upload(Self.session, from: "2001:db8:0:1::1").status == 202)
    }

    @Test func `Refused events count towards the rate, too`() throws {
        let world = try GateWorld { $0.addressRate = 10 }
        let bad = "[" + Array(repeating: "7", count: 500).joined(separator: ",") + "]"
        #expect(try world.upload(bad).status == 202)
        #expect(try world.upload(Self.session).status == 429)
    }

    // MARK: Repeats

    @Test func `An upload that is sent again is answered as before and appended once`() throws {
        let world = try GateWorld()
        let text = "[\(Self.session),7]"
        let first = try world.upload(text, once: "u1")
        let second = try world.upload(text, once: "u1")
        #expect(second.status == 202)
        #expect(second.bytes == first.bytes)
        #expect(second.headers["Idempotency-Replayed"] == "true")
        #expect(try world.events(.session).count == 1)
        #expect(try world.events(.dead).count == 1)
        #expect(try world.upload(text, once: "u2").headers["Idempotency-Replayed"] == nil)
        #expect(try world.upload(Self.session, once: "u1").why == "idempotency_mismatch")
        #expect(world.metrics.rendered().contains("adbrake_collect_repeats_total 1"))
    }

    @Test func `What was not acknowledged is not remembered`() throws {
        let world = try GateWorld()
        world.log.failAppends([.before])
        #expect(try world.upload(Self.session, once: "u1").status == 503)
        #expect(try world.upload(Self.session, once: "u1").status == 202)
        #expect(try world.events(.session).count == 1)
    }

    @Test func `Uploads are remembered for the horizon, and up to a number`() throws {
        let world = try GateWorld {
            $0.repeatHorizonMilliseconds = 1_000
            $0.repeatsMax = 3
        }
        func isRepeat(_ once: String) throws -> Bool {
            try world.upload(Self.session, once: once).headers["Idempotency-Replayed"] != nil
        }
        #expect(try !isRepeat("a"))
        world.time.move(seconds: 0.9)
        #expect(try isRepeat("a"))
        world.time.move(seconds: 0.2)
        #expect(try !isRepeat("a"))
        for once in ["b", "c", "d"] { #expect(try !isRepeat(once)) }
        #expect(try isRepeat("b"))
        #expect(try !isRepeat("a"), "the oldest has gone")
        #expect(world.metrics.rendered().contains("adbrake_collect_remembered 3"))
    }

    @Test func `One sender's keys for repeats are not another's`() throws {
        let (one, other) = ("key-of-one-team-001", "key-of-two-teams-01")
        let world = try GateWorld(keys: "\(one) *\n\(other) *\n")
        #expect(try world.upload(Self.session, key: one, once: "u").status == 202)
        let answer = try world.upload(Self.session, key: other, once: "u")
        #expect(answer.headers["Idempotency-Replayed"] == nil)
        #expect(try world.events(.session).count == 2)
        let long = String(repeating: "x", count: 256)
        #expect(try world.upload(Self.session, key: one, once: long).why == "idempotency_key")
    }

    @Test func `A repeat that comes while the first still waits gets its answer`() throws {
        let memory = try GateWorld()
        // Many at once with one key: one of them is appended.
        let answers = Monitor<[Int]>([])
        let threads = (0..<8).map { number in
            WorkerThread(name: "client \(number)") {
                let status = (try? memory.upload(Self.session, once: "same"))?.status ?? 0
                answers.withLock { $0.append(status) }
            }
        }
        for thread in threads { thread.join() }
        #expect(answers.read { $0 } == Array(repeating: 202, count: 8))
        #expect(try memory.events(.session).count == 1)
    }
}
