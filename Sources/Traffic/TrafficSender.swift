// Sends uploads on one connection, and tries again as the collector asks.
import BrakeModel
internal import BrakeWire
internal import HTTPClient
internal import Runtime

/// What has become of uploads so far.
package struct SendTotals: Sendable, Equatable {
    package var uploads = 0
    package var sent = 0
    package var accepted = 0
    package var rejected = 0
    /// Attempts answered with 429 or 503, or another server error.
    package var busyAnswers = 0
    package var serverErrors = 0
    /// Attempts without an answer.
    package var unanswered = 0
    /// Events of uploads that were given up or refused as a whole.
    package var lost = 0
    /// The last thing that went wrong, for a person.
    package var trouble: String?
    /// The collector refuses everything, such as for a wrong key: no use to go on.
    package var isRefused = false
    /// The time of all exchanges, ms, and the longest.
    package var exchangeMilliseconds: Int64 = 0
    package var exchangeMillisecondsMax: Int64 = 0
}

/// One sending thread's work.
struct TrafficSender {
    static let attemptsMax = 12
    /// Device times are told once: a much later attempt would look like a wrong clock.
    static let patienceMilliseconds: Int64 = 45_000
    private static let waitMillisecondsMax = 5_000

    let url: String
    let key: String?
    let queue: UploadQueue
    let totals: Monitor<SendTotals>
    /// Requested when the time for what is left is over.
    let abandon: StopSignal

    /// Sends until the queue is closed and empty.
    func run() {
        let connection = HTTPConnection(limits: HTTPLimits(totalMilliseconds: 15_000))
        let reader = DocumentReader()
        var random = SeededGenerator(seed: UInt64(SystemClock.monotonicNanoseconds()))
        while let upload = queue.next() {
            send(upload, on: connection, reader, &random)
        }
    }

    /// What an answer asks for.
    private enum Outcome {
        case done(accepted: Int, rejected: Int)
        case again(milliseconds: Int, why: String)
        case refused(why: String, isForAll: Bool)
    }

    private func send(
        _ upload: FleetUpload, on connection: HTTPConnection, _ reader: DocumentReader,
        _ random: inout SeededGenerator
    ) {
        let begun = SystemClock.monotonicMilliseconds()
        var request = HTTPRequest.post(
            url, headers: [("Content-Type", "application/json")], body: upload.bytes)
        if let key { request.headers.append(("Authorization", "Bearer \(key)")) }
        totals.withLock {
            $0.uploads += 1
            $0.sent += upload.events
        }
        for attempt in 1...Self.attemptsMax where !abandon.isRequested {
            let wait = backOff(attempt, &random)
            switch exchange(request, upload.events, on: connection, reader, backOff: wait) {
            case .done(let accepted, let rejected):
                totals.withLock {
                    $0.accepted += accepted
                    $0.rejected += rejected
                }
                return
            case .refused(let why, let isForAll):
                return giveUp(upload, why: why, isForAll: isForAll)
            case .again(let milliseconds, let why):
                totals.withLock { $0.trouble = why }
                let elapsed = SystemClock.monotonicMilliseconds() - begun
                guard elapsed + Int64(milliseconds) < Self.patienceMilliseconds else {
                    return giveUp(upload, why: why, isForAll: false)
                }
                abandon.wait(milliseconds: milliseconds)
            }
        }
        giveUp(upload, why: "not delivered in time", isForAll: false)
    }

    private func exchange(
        _ request: HTTPRequest, _ events: Int, on connection: HTTPConnection,
        _ reader: DocumentReader, backOff: Int
    ) -> Outcome {
        let begun = SystemClock.monotonicMilliseconds()
        let response: HTTPResponse
        do {
            response = try connection.send(request) { abandon.isRequested }
        } catch {
            totals.withLock { $0.unanswered += 1 }
            let why = "\(error)"
            return error.isRetriable
                ? .again(milliseconds: backOff, why: why) : .refused(why: why, isForAll: false)
        }
        let elapsed = SystemClock.monotonicMilliseconds() - begun
        totals.withLock {
            $0.exchangeMilliseconds += elapsed
            $0.exchangeMillisecondsMax = max($0.exchangeMillisecondsMax, elapsed)
        }
        return outcome(of: response, events, reader, backOff: backOff)
    }

    private func outcome(
        of response: HTTPResponse, _ events: Int, _ reader: DocumentReader, backOff: Int
    ) -> Outcome {
        let asked = response.retryAfterSeconds.map { min($0 * 1_000, Self.waitMillisecondsMax) }
        let why = "the collector answered \(response.status): \(response.text.prefix(200))"
        switch response.status {
        case 200..<300:
            let answer = reader.read(response.body)
            let rejected = answer?["rejected"]?.array?.count ?? 0
            let accepted = answer?["accepted"]?.integer.map { Int(clamping: $0) }
            return .done(accepted: accepted ?? events - rejected, rejected: rejected)
        case 429, 503:
            totals.withLock { $0.busyAnswers += 1 }
            // A little later than asked, and not all at once.
            return .again(milliseconds: (asked ?? 0) + backOff, why: why)
        case 500...:
            totals.withLock { $0.serverErrors += 1 }
            return .again(milliseconds: max(asked ?? 0, backOff), why: why)
        case 401, 403, 404: return .refused(why: why, isForAll: true)
        default: return .refused(why: why, isForAll: false)
        }
    }

    /// Grows with the attempts, with a random part.
    private func backOff(_ attempt: Int, _ random: inout SeededGenerator) -> Int {
        let most = min(100 << min(attempt, 8), Self.waitMillisecondsMax)
        return most / 2 + random.index(most / 2)
    }

    private func giveUp(_ upload: FleetUpload, why: String, isForAll: Bool) {
        totals.withLock {
            $0.lost += upload.events
            $0.trouble = why
            if isForAll { $0.isRefused = true }
        }
    }
}
