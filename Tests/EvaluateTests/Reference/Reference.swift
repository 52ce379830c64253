// The evaluation once more, as plainly as it can be said: every record is kept for ever and every
// window is counted anew. Written from DESIGN section 4 alone, so that it can disagree with the
// engine; slow on purpose.

/// A throttle record, by the reference or by the code under test.
struct ReferenceChange {
    var tick: Int64
    var app: String
    var state: String
    var cause: String
    var rule: String?
    var revision: Int
    /// The windows of 60, 600 and 3600 s.
    var windows: [Window]

    struct Window {
        var seconds: Int
        /// By the name a throttle record gives them.
        var counts: [String: Int]
        var rate: Double?
        var low: Double?
        var high: Double?
    }
}

enum Reference {
    /// The throttle changes over an input as `adbrake replay --input` takes it, in the order of
    /// tick, then app.
    static func changes(over input: [String], _ policy: ReferencePolicy) -> [ReferenceChange] {
        var records: [String: [ReferenceRecord]] = [:]
        var last: Int64 = 0
        for text in input {
            guard let line = JSONText(text), let append = line["append"]?.integer else { continue }
            last = append
            guard let value = line["value"] else { continue }
            for event in ReferenceRecord.events(of: value, append: append) {
                records[event.app, default: []].append(event)
            }
        }
        return
            records
            .flatMap { changes(of: $0.key, $0.value, until: last, policy) }
            .sorted { ($0.tick, $0.app) < ($1.tick, $1.app) }
    }

    /// The changes of one app: no app depends on another.
    static func changes(
        of app: String, _ records: [ReferenceRecord], until last: Int64, _ policy: ReferencePolicy
    ) -> [ReferenceChange] {
        let facts = ReferenceFact.facts(of: records)
        // A window's counts can differ from those of the tick before only if meanwhile a fact came
        // in (at its A, so at ticks after it) or left the window. All such moments, for each
        // window:
        let moments = ReferenceWindow.all.map { window in
            Set(facts.flatMap { [$0.append + 1, window.end(of: $0.time)] }).sorted()
        }
        var passed = [0, 0, 0]
        var windows = ReferenceWindow.all.map { _ in ReferenceCounts() }
        var verdict = ReferenceVerdict(windows, policy)
        var machine = ReferenceMachine()
        var changes: [ReferenceChange] = []
        // The first multiple of the tick after the app was first seen.
        var tick = (floorDivide(records[0].append, policy.tick) + 1) * policy.tick
        while tick <= last {
            var isRecounted = false
            for (index, window) in ReferenceWindow.all.enumerated() {
                let before = passed[index]
                while passed[index] < moments[index].count, moments[index][passed[index]] <= tick {
                    passed[index] += 1
                }
                guard passed[index] > before else { continue }
                windows[index] = ReferenceCounts(of: facts, window: window, clock: tick)
                isRecounted = true
            }
            if isRecounted { verdict = ReferenceVerdict(windows, policy) }

            let before = machine
            if let change = machine.decide(tick, verdict, policy) {
                changes.append(Self.change(app, tick, change, windows, policy))
            }
            tick += policy.tick
            // At rest, and this tick left all as it was: so will the next, until counts differ.
            if machine == before, machine.isResting {
                let next = zip(moments, passed).compactMap { $1 < $0.count ? $0[$1] : nil }.min()
                guard let next else { break }
                tick = max(tick, floorDivide(next + policy.tick - 1, policy.tick) * policy.tick)
            }
        }
        return changes
    }

    private static func change(
        _ app: String, _ tick: Int64, _ change: ReferenceMachine.Change,
        _ windows: [ReferenceCounts], _ policy: ReferencePolicy
    ) -> ReferenceChange {
        ReferenceChange(
            tick: tick, app: app, state: ReferencePolicy.stateNames[change.state],
            cause: change.cause.rawValue, rule: change.rule, revision: change.revision,
            windows: zip(ReferenceWindow.all, windows).map { window, counts in
                let rate = ReferenceRate(counts, policy)
                return ReferenceChange.Window(
                    seconds: window.seconds,
                    counts: [
                        "sessions": rate.sessions, "crashes": rate.crashes,
                        "crashed_sessions": counts.crashedSessions,
                        "crashing_sessions": counts.crashingSessions,
                        "crashed_devices": counts.crashedDevices,
                        "soft_errors": counts.softErrors, "alive": counts.alive,
                        "impressions": counts.impressions, "ad_failures": counts.adFailures,
                        "signals": counts.signals,
                    ],
                    rate: rate.rate, low: rate.interval?.low, high: rate.interval?.high)
            })
    }
}
