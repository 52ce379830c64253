// Parsers for concurrent uploads: each has megabytes of memory, so there are few, used again, and
// who finds none waits for one. More than a few at once would not be faster.

import BrakeWire
import Runtime

/// What one upload is read with.
struct Parsers {
    let splitter = UploadSplitter()
    /// Of documents of other protocols.
    let documents = DocumentReader(bytesMax: ForeignLimits.documentBytesMax)
}

/// How large requests of other protocols may be.
enum ForeignLimits {
    /// An SDK of Sentry packs attachments beside its events; those of OpenTelemetry send 512 log
    /// records with the stack traces in them.
    static let bodyBytesMax = 4 << 20
    /// One JSON document of them: as a tree it takes thirty times as much.
    static let documentBytesMax = 1 << 20
}

/// Lends parsers to request threads.
///
/// @unchecked Sendable: parsers belong to one thread at a time, the one that has borrowed them;
/// the list of idle ones is in a monitor.
final class ParserPool: @unchecked Sendable {
    /// The most that are lent at once.
    static let parsersMax = 8
    /// Parsing takes milliseconds: who has waited so long is not served at all.
    private static let waitMilliseconds = 10_000

    /// @unchecked Sendable: handed over whole, under the monitor's lock.
    private struct Pool: @unchecked Sendable {
        var idle: [Parsers] = []
        var made = 0
    }

    /// @unchecked Sendable: taken out of the pool and given back to it by one thread.
    private struct Loan: @unchecked Sendable {
        var parsers: Parsers
    }

    private let pool = Monitor(Pool())

    /// Nil: there was none for too long.
    func withParsers<Value>(_ body: (Parsers) -> Value) -> Value? {
        let loan = pool.wait(milliseconds: Self.waitMilliseconds) { pool -> Loan? in
            if let idle = pool.idle.popLast() { return Loan(parsers: idle) }
            guard pool.made < Self.parsersMax else { return nil }
            pool.made += 1
            return Loan(parsers: Parsers())
        }
        guard let loan else { return nil }
        defer { pool.withLock { $0.idle.append(loan.parsers) } }
        return body(loan.parsers)
    }
}
