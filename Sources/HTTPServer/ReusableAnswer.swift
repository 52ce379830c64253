// Answers that may be given again for a moment: most of what an edge is asked is what it was asked
// right before, and then neither a handler nor a header field has to be looked at.
import CMicroHTTPD
import Glibc
package import Runtime
import Synchronization

/// The answer to a target, whoever asks for it: whole, or unchanged for who holds it.
package final class ReusableAnswer: Sendable {
    let whole: Response
    let unchanged: Response
    let milliseconds: Int64
    let counter: Counter

    /// `counter` rises with each reuse, as the handler lets it rise with each answer of its own.
    package init(whole: Response, unchanged: Response, milliseconds: Int64, counter: Counter) {
        precondition(whole.headers["ETag"] != nil, "who holds it is told by its tag")
        self.whole = whole
        self.unchanged = unchanged
        self.milliseconds = milliseconds
        self.counter = counter
    }
}

/// Says that answers given before may be wrong from now on. Any thread.
package final class AnswersVersion: Sendable {
    private let number = Atomic<UInt64>(0)

    package init() {}

    var current: UInt64 { number.load(ordering: .acquiring) }

    package func pass() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// A reusable answer as the library takes it, with the numbers it is counted in.
///
/// @unchecked Sendable: the library's responses are counted references, made here, changed by
/// nobody, and let go in deinit.
@safe
final class PreparedAnswer: @unchecked Sendable {
    private let whole: OpaquePointer
    private let unchanged: OpaquePointer
    /// As a header carries it, weak and strong, ended by 0.
    private let tags: [[CChar]]
    private let version: UInt64
    /// Monotonic, ns.
    private let endsAt: Int64
    private let counter: Counter
    private let meters: [Counter]
    private let seconds: Histogram

    init?(
        _ answer: ReusableAnswer, version: UInt64, now: Int64, for exchange: Exchange,
        meters: ListenerMeters
    ) {
        // Only who names no site is given it again.
        guard let whole = unsafe Self.make(exchange.markedForNoSite(answer.whole)) else {
            return nil
        }
        guard let unchanged = unsafe Self.make(exchange.markedForNoSite(answer.unchanged)) else {
            unsafe MHD_destroy_response(whole)
            return nil
        }
        unsafe self.whole = unsafe whole
        unsafe self.unchanged = unsafe unchanged
        let tag = answer.whole.headers["ETag"] ?? ""
        let strong = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        tags = [tag, strong].map { $0.utf8.map { CChar(bitPattern: $0) } + [0] }
        self.version = version
        endsAt = now + answer.milliseconds * 1_000_000
        counter = answer.counter
        let route = exchange.routeLabel
        self.meters = [200, 304].map { meters.answers(route: route, status: $0) }
        seconds = meters.seconds(route: route)
    }

    deinit {
        unsafe MHD_destroy_response(whole)
        unsafe MHD_destroy_response(unchanged)
    }

    func holds(version: UInt64, now: Int64) -> Bool { self.version == version && now < endsAt }

    /// Answers the request of a connection: unchanged to who holds it.
    func send(to connection: OpaquePointer, isHeld: Bool) -> MHD_Result {
        counter.add()
        meters[isHeld ? 1 : 0].add()
        // Of no time that could be told from zero.
        seconds.observe(0)
        return isHeld
            ? unsafe MHD_queue_response(connection, 304, unchanged)
            : unsafe MHD_queue_response(connection, 200, whole)
    }

    /// Whether the field names exactly this answer.
    func isHeld(by field: UnsafePointer<CChar>) -> Bool {
        tags.contains { unsafe strcmp($0, field) == 0 }
    }

    /// The library copies the bytes and the fields.
    private static func make(_ response: Response) -> OpaquePointer? {
        let made = unsafe response.bytes.withUnsafeBytes { buffer in
            unsafe MHD_create_response_from_buffer(
                buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        guard let made = unsafe made else { return nil }
        for (name, value) in response.headers.fields {
            guard unsafe MHD_add_response_header(made, name, value) == .YES else {
                unsafe MHD_destroy_response(made)
                return nil
            }
        }
        return unsafe made
    }
}

/// The answers of a listener that may be given again, by target.
final class AnswerCache: Sendable {
    /// More targets than this are asked for seldom each.
    private static let targetsMax = 4_096

    private let version: AnswersVersion
    private let answers = Mutex<[String: PreparedAnswer]>([:])

    init(_ version: AnswersVersion) { self.version = version }

    /// To be asked before the answer is made: one that passes meanwhile makes it void.
    var currentVersion: UInt64 { version.current }

    func answer(to target: String) -> PreparedAnswer? {
        let known = answers.withLock { $0[target] }
        guard let known,
            known.holds(version: version.current, now: SystemClock.monotonicNanoseconds())
        else { return nil }
        return known
    }

    func keep(_ answer: PreparedAnswer, for target: String) {
        answers.withLock { answers in
            if answers.count >= Self.targetsMax, answers[target] == nil { answers = [:] }
            answers[target] = answer
        }
    }
}
