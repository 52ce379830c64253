// How much a key, or an address, may bring. Pure but for its lock: time is an argument.
import Runtime

/// A limit of events a second for each of many senders, with room for ten seconds' worth at once.
///
/// What is kept of a sender is one number: the moment at which all it has brought would have been
/// brought at its rate. It may lie ahead of now by the length of a burst.
final class RateLimits: Sendable {
    /// How far a sender may be ahead.
    static let burstNanoseconds: Int64 = 10_000_000_000
    /// Senders beyond this share one allowance, so that making up senders gains nothing.
    static let sendersMax = 100_000
    private static let others = "\u{0}others"

    /// Those who are no longer ahead are looked for so often at most.
    private static let sweepNanoseconds: Int64 = 1_000_000_000

    private struct State: Sendable {
        var ahead: [String: Int64] = [:]
        var sweptAt: Int64 = 0
    }

    private let state = Monitor(State())

    /// Whole seconds until the sender may bring something again; nil: now.
    func wait(_ sender: String, rate: Int, now: Int64) -> Int? {
        guard rate > 0 else { return nil }
        let over = state.read { state in
            let known = state.ahead[sender] ?? (Self.isFull(state) ? state.ahead[Self.others] : nil)
            return (known ?? now) - now - Self.burstNanoseconds
        }
        return over > 0 ? Int((over + 999_999_999) / 1_000_000_000) : nil
    }

    /// Takes note of events that were brought.
    func charge(_ sender: String, events: Int, rate: Int, now: Int64) {
        guard rate > 0, events > 0 else { return }
        let cost = Int64(events) * (1_000_000_000 / Int64(min(rate, 1_000_000_000)))
        state.withLock { state in
            var key = sender
            if state.ahead[sender] == nil, Self.isFull(state) {
                if state.sweptAt &+ Self.sweepNanoseconds < now {
                    // Who is not ahead is as good as forgotten.
                    state.ahead = state.ahead.filter { $0.value > now }
                    state.sweptAt = now
                }
                if Self.isFull(state) { key = Self.others }
            }
            state.ahead[key] = max(state.ahead[key] ?? now, now) + cost
        }
    }

    private static func isFull(_ state: State) -> Bool { state.ahead.count >= sendersMax }
}
