// A replay over an input in memory, and what it put out, read back.
import BrakeWire
import Evaluate

struct ReplayRun {
    struct Unreadable: Error {
        let line: String
    }

    /// NDJSON.
    let output: [UInt8]

    /// Feeds the input in pieces that end at these places, the last of which is its end. The
    /// policy is a document.
    init(_ input: [UInt8], policy: String, cuts: [Int]) throws {
        let document = try PolicyDocument(Array(policy.utf8), with: DocumentReader())
        var replay = Replay(policy: document.policy)
        var start = 0
        for cut in cuts {
            replay.feed(Array(input[start..<cut]))
            start = cut
        }
        replay.finish()
        output = replay.takeOutput()
    }

    /// The throttle records of the output.
    func changes() throws -> [ReferenceChange] {
        try String(decoding: output, as: UTF8.self).split(separator: "\n").map { line in
            guard let change = Self.change(line) else { throw Unreadable(line: String(line)) }
            return change
        }
    }

    private static func change(_ line: Substring) -> ReferenceChange? {
        guard let record = JSONText(line), let tick = record["since"]?.integer,
            record["why"]?["clock"]?.integer == tick,
            let app = record["app"]?.string, let state = record["state"]?.string,
            let cause = record["cause"]?.string, let revision = record["revision"]?.integer,
            let windows = record["why"]?["windows"]?.array
        else { return nil }
        return ReferenceChange(
            tick: tick, app: app, state: state, cause: cause,
            rule: record["why"]?["rule"]?.string, revision: Int(revision),
            windows: windows.map { window in
                var counts: [String: Int] = [:]
                for (key, value) in window.object ?? [:] {
                    if key != "window_s", let count = value.integer { counts[key] = Int(count) }
                }
                // A rate of exactly 1 or 0 is written without a fraction, like a count.
                for key in ["rate", "low", "high"] { counts[key] = nil }
                return ReferenceChange.Window(
                    seconds: Int(window["window_s"]?.integer ?? 0), counts: counts,
                    rate: window["rate"]?.double, low: window["low"]?.double,
                    high: window["high"]?.double)
            })
    }
}

extension ReferenceChange {
    /// How far two rates may differ: formulas differ in their last digits.
    private static let rateTolerance = 1e-9

    /// Whether both are the same change, as far as both say.
    func agrees(with other: ReferenceChange) -> Bool {
        func near(_ one: Double?, _ other: Double?) -> Bool {
            guard let one, let other else { return one == nil && other == nil }
            return abs(one - other) <= Self.rateTolerance
        }
        return (tick, app, state, cause, revision)
            == (other.tick, other.app, other.state, other.cause, other.revision)
            && rule == other.rule && windows.count == other.windows.count
            && zip(windows, other.windows).allSatisfy { one, other in
                one.seconds == other.seconds && near(one.rate, other.rate)
                    && near(one.low, other.low) && near(one.high, other.high)
                    && other.counts.allSatisfy { one.counts[$0.key] == $0.value }
            }
    }
}
