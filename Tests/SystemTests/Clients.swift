// Clients that upload while the program comes and goes, and remember what it has acknowledged.
import BrakeWire
import HTTPClient
import Runtime

/// Several threads that send, each on a connection of its own, until they are stopped.
final class Clients: Sendable {
    struct Tally {
        /// Where to send to; nil while the program is down.
        var address: String?
        var acknowledged: [String: Int] = [:]
        /// Sent without an answer: the log may have them or not.
        var unanswered: [String: Int] = [:]
        var events = 0
        /// Uploads that were answered with 429 or 503.
        var refused = 0
        /// Uploads that a client has given up waiting for.
        var timedOut = 0
        /// The longest time that an answer took.
        var slowestMilliseconds: Int64 = 0
        /// Answers that no client should get.
        var complaints: [String] = []
        var running = 0
    }

    /// How long a client waits for an answer: longer than the collector waits for the log.
    private static let waitMilliseconds = 20_000

    let tally = Monitor(Tally())
    private let stop = StopSignal()

    /// `first`: the number of the first client, which its tokens begin with.
    /// `pauseMilliseconds`: between two uploads of a client; the program is not optimised in tests.
    init(count: Int, seed: UInt64, first: Int = 0, pauseMilliseconds: Int = 15) {
        tally.withLock { $0.running = count }
        for client in first..<first + count {
            let (tally, stop) = (tally, stop)
            _ = WorkerThread(name: "client \(client)") {
                var workload = Workload(client: client, seed: seed)
                let connection = HTTPConnection(
                    limits: HTTPLimits(totalMilliseconds: Self.waitMilliseconds))
                while !stop.wait(milliseconds: pauseMilliseconds) {
                    Self.sendNext(&workload, connection, tally)
                }
                tally.withLock { $0.running -= 1 }
            }
        }
    }

    /// Tells where the program listens; nil: it is gone.
    func send(to address: String?) { tally.withLock { $0.address = address } }

    /// Waits until so many more uploads are acknowledged, or for the time at most; returns whether
    /// they are.
    @discardableResult
    func waitForUploads(_ count: Int, milliseconds: Int) -> Bool {
        let goal = tally.read { $0.acknowledged.count } + count
        return tally.wait(milliseconds: milliseconds) { tally in
            tally.acknowledged.count >= goal ? true : nil
        } ?? false
    }

    /// Stops all clients and waits for the answers that are on the way.
    func finish() -> Tally? {
        stop.request(reason: "the test has seen enough")
        return tally.wait(milliseconds: Child.patienceMilliseconds) { tally in
            tally.running == 0 ? tally : nil
        }
    }

    private static func sendNext(
        _ workload: inout Workload, _ connection: HTTPConnection, _ tally: Monitor<Tally>
    ) {
        guard let address = tally.wait(milliseconds: 50, for: { $0.address }) else { return }
        let upload = workload.next(now: SystemClock.wallMilliseconds())
        let begun = SystemClock.monotonicMilliseconds()
        do {
            let answer = try connection.send(.post("\(address)/v1/events", body: upload.body))
            tally.withLock { tally in
                take(answer, to: upload, &tally)
                let time = SystemClock.monotonicMilliseconds() - begun
                tally.slowestMilliseconds = max(tally.slowestMilliseconds, time)
            }
        } catch {
            tally.withLock { tally in
                tally.unanswered[upload.token] = upload.events
                if error.kind == .timedOut { tally.timedOut += 1 }
            }
        }
    }

    private static func take(
        _ answer: HTTPResponse, to upload: SentUpload, _ tally: inout Tally
    ) {
        let document = DocumentReader().read(answer.body)
        let rejected = document?["rejected"]?.array?.count
        switch answer.status {
        case 202
        where document?["accepted"]?.integer == Int64(upload.events)
            && rejected == upload.bad:
            tally.acknowledged[upload.token] = upload.events
            tally.events += upload.events
        case 429, 503:
            tally.unanswered[upload.token] = upload.events
            tally.refused += 1
        default: tally.complaints.append("\(answer.status) \(answer.text.prefix(500))")
        }
    }
}
