// What the windows hold: DESIGN section 4, "Windows", "Counts" and "Rate". Every count is made
// anew from the list of all facts.

/// One thing that one record adds to the counts, with the time at which it is counted.
struct ReferenceFact {
    enum Kind {
        case session, crash, crashedSession, crashingSession
        /// All start records and all fatal crash records, repeats included.
        case anyStart, anyCrash
        case alive, softError, signal, impression, adFailure
    }

    let kind: Kind
    /// When the record came in.
    let append: Int64
    /// When it is counted.
    let time: Int64
    var device: String?

    static let sessionHorizon: Int64 = 3_600_000
    static let crashHorizon: Int64 = 24 * 3_600_000

    /// The facts of an app's records, which are in the order of arrival.
    static func facts(of records: [ReferenceRecord]) -> [ReferenceFact] {
        var facts: [ReferenceFact] = []
        var sessionSeen: [String: Int64] = [:]
        var sessionCrashed: [String: Int64] = [:]
        var crashSeen: [String: Int64] = [:]

        /// Whether the key is new within the horizon; if so, it is remembered with this time.
        func isFirst(
            _ key: String, _ append: Int64, _ seen: inout [String: Int64], _ horizon: Int64
        ) -> Bool {
            if let first = seen[key], append - first <= horizon { return false }
            seen[key] = append
            return true
        }

        for record in records {
            func add(_ kind: Kind, at time: Int64, device: String? = nil) {
                facts.append(
                    ReferenceFact(kind: kind, append: record.append, time: time, device: device))
            }
            switch record.meaning {
            case .start:
                add(.anyStart, at: record.time)
                if let session = record.session,
                    !isFirst(session, record.append, &sessionSeen, sessionHorizon)
                {
                    continue
                }
                add(.session, at: record.time)
            case .crash:
                add(.anyCrash, at: record.time)
                if let id = record.id, !isFirst(id, record.append, &crashSeen, crashHorizon) {
                    continue
                }
                add(.crash, at: record.time, device: record.device)
                if let session = record.session {
                    if isFirst(session, record.append, &sessionSeen, sessionHorizon) {
                        add(.session, at: record.sessionTime)
                    }
                    guard isFirst(session, record.append, &sessionCrashed, crashHorizon) else {
                        continue
                    }
                }
                add(.crashedSession, at: record.sessionTime)
                add(.crashingSession, at: record.time)
            case .alive: add(.alive, at: record.time)
            case .softError(let isSignal):
                add(.softError, at: record.time)
                if isSignal { add(.signal, at: record.time) }
            case .impression:
                for _ in 0..<record.count { add(.impression, at: record.time) }
            case .adFailure:
                for _ in 0..<record.count { add(.adFailure, at: record.time) }
            case .dismissal, .other: break
            }
        }
        return facts
    }
}

/// A window's length and step.
struct ReferenceWindow {
    let seconds: Int
    let length: Int64
    let step: Int64

    static let all = [
        ReferenceWindow(seconds: 60, length: 60_000, step: 1_000),
        ReferenceWindow(seconds: 600, length: 600_000, step: 10_000),
        ReferenceWindow(seconds: 3600, length: 3_600_000, step: 60_000),
    ]

    static func index(seconds: Int) -> Int {
        all.firstIndex { $0.seconds == seconds } ?? 0
    }

    /// The times that the window at the clock holds: `k - W/g < floor(E/g) <= k`, solved for E.
    func times(clock: Int64) -> Range<Int64> {
        let k = floorDivide(clock - 1, step)
        return (k - length / step + 1) * step..<(k + 1) * step
    }

    /// The first clock at which the window no longer holds what is counted at the time.
    func end(of time: Int64) -> Int64 {
        (floorDivide(time, step) + length / step) * step + 1
    }
}

func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor)
}

/// The counts of one window at a clock.
struct ReferenceCounts: Equatable {
    var sessions = 0
    var crashes = 0
    var crashedSessions = 0
    var crashingSessions = 0
    var crashedDevices = 0
    var anyStarts = 0
    var anyCrashes = 0
    var alive = 0
    var softErrors = 0
    var signals = 0
    var impressions = 0
    var adFailures = 0

    static let devicesMax = 4096

    init() {}

    /// Counts the facts that came in before the clock and are in the window.
    init(of facts: [ReferenceFact], window: ReferenceWindow, clock: Int64) {
        var devices: Set<String> = []
        let times = window.times(clock: clock)
        for fact in facts where fact.append < clock && times.contains(fact.time) {
            switch fact.kind {
            case .session: sessions += 1
            case .crash:
                crashes += 1
                if let device = fact.device { devices.insert(device) }
            case .crashedSession: crashedSessions += 1
            case .crashingSession: crashingSessions += 1
            case .anyStart: anyStarts += 1
            case .anyCrash: anyCrashes += 1
            case .alive: alive += 1
            case .softError: softErrors += 1
            case .signal: signals += 1
            case .impression: impressions += 1
            case .adFailure: adFailures += 1
            }
        }
        crashedDevices = min(devices.count, Self.devicesMax)
    }
}

/// The numbers a policy decides on: its sessions, crashes and rate, by its way of counting.
struct ReferenceRate {
    let sessions: Int
    let crashes: Int
    /// The crash-free rate, nil when undefined.
    let rate: Double?
    /// The interval of the crash-free rate, nil without a confidence or without sessions.
    let interval: (low: Double, high: Double)?

    init(_ counts: ReferenceCounts, _ policy: ReferencePolicy) {
        let bad: Int
        if policy.countsEvents {
            sessions = counts.anyStarts
            crashes = counts.anyCrashes
            bad = crashes
            rate = sessions == 0 ? policy.emptyRate : Double(sessions - bad) / Double(sessions)
        } else {
            sessions = counts.sessions
            crashes = counts.crashes
            bad = min(max(counts.crashedSessions, counts.crashingSessions), sessions)
            rate = sessions == 0 ? nil : Double(sessions - bad) / Double(sessions)
        }
        if let z = policy.z, sessions > 0 {
            let crashRate = Self.wilson(Double(min(bad, sessions)), of: Double(sessions), z: z)
            interval = (1 - crashRate.high, 1 - crashRate.low)
        } else {
            interval = nil
        }
    }

    /// The Wilson score interval of x in n.
    static func wilson(_ x: Double, of n: Double, z: Double) -> (low: Double, high: Double) {
        let p = x / n
        let centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        let half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        return (max(centre - half, 0), min(centre + half, 1))
    }
}
