// Uploads that were sent twice: a client that has not seen the answer sends again with the same
// `Idempotency-Key`, and gets the answer that it missed.
import Runtime

/// Answers by key, for a while and up to a number; the oldest go first.
///
/// It lives in this process: a repeat that reaches another collector, or comes after a restart, is
/// appended again. Sessions and crashes are then still counted once, by their ids.
final class RepeatMemory: Sendable {
    /// A key is a sender's own: another one cannot ask for the answer.
    struct Key: Hashable, Sendable {
        var sender: String
        var text: String

        var bytes: Int { sender.utf8.count + text.utf8.count }
    }

    enum Beginning: Sendable, Equatable {
        /// It is the first: call `finish` in any case.
        case first
        case repeated([UInt8])
        /// The key was used for something else.
        case otherBody
        /// The first is still waiting for the log.
        case unfinished
    }

    private struct Entry: Sendable {
        var body: UInt64
        var begun: Int64
        var answer: [UInt8]?
    }

    private struct State: Sendable {
        var entries: [Key: Entry] = [:]
        /// In order of their beginning, from `head`; some may have been forgotten meanwhile.
        var order: [(key: Key, begun: Int64)] = []
        var head = 0
        /// Of keys and answers.
        var bytes = 0

        mutating func forget(_ key: Key) {
            guard let entry = entries.removeValue(forKey: key) else { return }
            bytes -= key.bytes + (entry.answer?.count ?? 0)
        }
    }

    private let settings: CollectSettings
    private let state = Monitor(State())

    init(_ settings: CollectSettings) { self.settings = settings }

    var count: Int { state.read { $0.entries.count } }

    /// Begins an upload, or finds it; waits while the first is under way. `now` is monotonic ms,
    /// `body` a hash.
    func begin(_ key: Key, body: UInt64, now: Int64) -> Beginning {
        state.wait(milliseconds: settings.repeatWaitMilliseconds) { state -> Beginning? in
            forget(&state, before: now - settings.repeatHorizonMilliseconds, most: Int.max)
            if let entry = state.entries[key] {
                guard entry.body == body else { return .otherBody }
                return entry.answer.map { .repeated($0) }
            }
            forget(&state, before: Int64.min, most: settings.repeatsMax - 1)
            state.entries[key] = Entry(body: body, begun: now)
            state.bytes += key.bytes
            state.order.append((key, now))
            return .first
        } ?? .unfinished
    }

    /// Ends an upload that has begun; without an answer it is forgotten, and the next is a first.
    func finish(_ key: Key, answer: [UInt8]?) {
        state.withLock { state in
            guard let answer else { return state.forget(key) }
            guard state.entries[key] != nil else { return }
            state.entries[key]?.answer = answer
            state.bytes += answer.count
        }
    }

    private func forget(_ state: inout State, before limit: Int64, most: Int) {
        while state.head < state.order.count {
            let oldest = state.order[state.head]
            let isOver = state.entries.count > most || state.bytes > settings.repeatBytesMax
            guard oldest.begun < limit || isOver else { break }
            // A key that was forgotten and begun again has another beginning.
            if state.entries[oldest.key]?.begun == oldest.begun { state.forget(oldest.key) }
            state.head += 1
        }
        if state.head > 1_000, state.head * 2 > state.order.count {
            state.order.removeFirst(state.head)
            state.head = 0
        }
    }
}
