// Uploads that were sent twice: a client that has not seen the answer sends again with the same
// `Idempotency-Key`, and gets the answer that it missed.
import Runtime

/// Answers by key, for a while and up to a number. When there is no more room, the sender that
/// takes most of it gives up its oldest: who floods it pushes out nobody else's.
///
/// Uploads that still wait for their answer are never given up; there are no more of them than
/// requests under way.
///
/// It lives in this process: a repeat that reaches another collector, or comes after a restart, is
/// appended again. Sessions and crashes are then still counted once, by their ids.
final class RepeatMemory: Sendable {
    /// A key is a sender's own: another one cannot ask for the answer.
    struct Key: Hashable, Sendable {
        var sender: String
        var text: String

        fileprivate var bytes: Int { sender.utf8.count + text.utf8.count }
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

    /// Shelves of idle senders are looked at once in so many ms: there may be thousands.
    private static let sweepMilliseconds: Int64 = 1_000

    private let settings: CollectSettings
    private let state = Monitor(State())

    init(_ settings: CollectSettings) { self.settings = settings }

    var count: Int { state.read { $0.entries.count } }

    /// Begins an upload, or finds it; waits while the first is under way. `now` is monotonic ms,
    /// `body` a hash.
    func begin(_ key: Key, body: UInt64, now: Int64) -> Beginning {
        let limit = now - settings.repeatHorizonMilliseconds
        return state.wait(milliseconds: settings.repeatWaitMilliseconds) { state -> Beginning? in
            state.forget(of: key.sender, before: limit)
            if now >= state.sweptAt + Self.sweepMilliseconds {
                state.sweptAt = now
                for sender in Array(state.shelves.keys) { state.forget(of: sender, before: limit) }
            }
            if let entry = state.entries[key] {
                guard entry.body == body else { return .otherBody }
                return entry.answer.map { .repeated($0) }
            }
            while state.entries.count >= settings.repeatsMax, state.giveUp(by: \.count) {}
            state.entries[key] = Entry(body: body)
            return .first
        } ?? .unfinished
    }

    /// Ends an upload that has begun; without an answer it is forgotten, and the next is a first.
    func finish(_ key: Key, answer: [UInt8]?, now: Int64) {
        state.withLock { state in
            guard let answer else {
                state.entries[key] = nil
                return
            }
            state.keep(answer, of: key, now: now)
            while state.bytes > settings.repeatBytesMax, state.giveUp(by: \.bytes) {}
        }
    }
}

extension RepeatMemory {
    private struct Entry: Sendable {
        var body: UInt64
        /// Nil while the first waits for the log.
        var answer: [UInt8]?
    }

    /// The answered uploads of one sender, in order of their answers.
    private struct Shelf: Sendable {
        /// From `head` on.
        private var uploads: [(text: String, answered: Int64)] = []
        private var head = 0
        /// Of keys and answers.
        var bytes = 0

        var count: Int { uploads.count - head }
        var oldest: (text: String, answered: Int64)? { count > 0 ? uploads[head] : nil }

        mutating func add(_ text: String, now: Int64) { uploads.append((text, now)) }

        mutating func removeOldest() {
            head += 1
            if head > 1_000, head * 2 > uploads.count {
                uploads.removeFirst(head)
                head = 0
            }
        }
    }

    private struct State: Sendable {
        var entries: [Key: Entry] = [:]
        /// By sender; none is empty.
        var shelves: [String: Shelf] = [:]
        /// Of all shelves.
        var bytes = 0
        var sweptAt = Int64.min / 2

        mutating func keep(_ answer: [UInt8], of key: Key, now: Int64) {
            entries[key]?.answer = answer
            let size = key.bytes + answer.count
            bytes += size
            shelves[key.sender, default: Shelf()].bytes += size
            shelves[key.sender]?.add(key.text, now: now)
        }

        /// Forgets what a sender was answered before a time.
        mutating func forget(of sender: String, before limit: Int64) {
            while let oldest = shelves[sender]?.oldest, oldest.answered < limit {
                forgetOldest(of: sender)
            }
        }

        /// Makes room at the cost of who takes most; false when nobody can give any.
        /// O(senders).
        mutating func giveUp(by size: (Shelf) -> Int) -> Bool {
            guard let most = shelves.max(by: { size($0.value) < size($1.value) }) else {
                return false
            }
            forgetOldest(of: most.key)
            return true
        }

        private mutating func forgetOldest(of sender: String) {
            guard let text = shelves[sender]?.oldest?.text else { return }
            let key = Key(sender: sender, text: text)
            let size = key.bytes + (entries.removeValue(forKey: key)?.answer?.count ?? 0)
            bytes -= size
            shelves[sender]?.bytes -= size
            shelves[sender]?.removeOldest()
            if shelves[sender]?.count == 0 { shelves[sender] = nil }
        }
    }
}
