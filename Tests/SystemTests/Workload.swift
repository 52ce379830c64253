// What one client of the collector sends: a few apps with sessions, crashes, phases of trouble,
// repeats and late reports. Every upload carries a token that the log keeps, so that a test can
// find each event again.
import BrakeModel
import BrakeWire

extension SeededGenerator {
    mutating func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
    mutating func chance(_ percent: Int) -> Bool { next(below: 100) < percent }
}

/// One upload, and what the log must have of it once it is acknowledged.
struct SentUpload: Sendable {
    var token: String
    var body: [UInt8]
    /// Good events; the others are rejected by the collector.
    var events: Int
    var bad: Int
}

/// Makes the uploads of one client, one after the other.
struct Workload {
    static let apps = (0..<12).map { "app-\($0)" }
    /// So long an app is well or in trouble, each at another time.
    private static let phaseMilliseconds: Int64 = 3_000

    private let client: Int
    private var random: SeededGenerator
    private var number = 0
    private var sessions = 0
    /// Events of earlier uploads, to be sent once more.
    private var sent: [String] = []

    init(client: Int, seed: UInt64) {
        self.client = client
        random = SeededGenerator(seed: seed &+ UInt64(client) &* 7_919)
    }

    /// The next upload, with times around a wall clock of ms since 1970.
    mutating func next(now: Int64) -> SentUpload {
        number += 1
        let token = "c\(client)-\(number)"
        var events: [String] = []
        for _ in 0...random.next(below: 3) {
            let app = random.next(below: Self.apps.count)
            addSessions(of: app, now: now, to: &events)
        }
        for _ in 0..<random.next(below: 3) where !sent.isEmpty {
            events.append(sent[random.next(below: sent.count)])
        }
        for event in events.prefix(2) { sent.append(event) }
        if sent.count > 50 { sent.removeFirst(25) }
        let good = events.enumerated().map { index, event in
            String(event.dropLast()) + #","token":"\#(token)","n":\#(index)}"#
        }
        let bad = random.chance(10) ? [#"{"type":"session","app":"no good"}"#] : []
        let body = "[" + (good + bad).joined(separator: ",") + "]"
        return SentUpload(
            token: token, body: Array(body.utf8), events: good.count, bad: bad.count)
    }

    private mutating func addSessions(of app: Int, now: Int64, to events: inout [String]) {
        let phase = (Int(now / Self.phaseMilliseconds) + app) % 4
        let isLaunchBroken = phase == 3 && app % 4 == 0
        for _ in 0...random.next(below: 12) {
            sessions += 1
            let session = "s\(client)-\(sessions)"
            let at = now - Int64(age())
            let common = common(app, session, at: at, now: now)
            events.append(#"{"type":"session",\#(common)}"#)
            if !isLaunchBroken, random.chance(95) {
                events.append(#"{"type":"session","phase":"alive",\#(common)}"#)
            }
            if random.chance(phase == 1 ? 50 : 1) {
                events.append(#"{"type":"crash","session_at":\#(at - 700),\#(common)}"#)
            }
            if random.chance(10) {
                events.append(#"{"type":"soft_error","severity":"error",\#(common)}"#)
            }
            if random.chance(20) {
                events.append(#"{"type":"ad_event","event":"shown",\#(common)}"#)
            }
        }
    }

    /// Mostly about to leave the shortest window, so that states move soon; at times within the
    /// hour, seldom too old for any window.
    private mutating func age() -> Int {
        switch random.next(below: 50) {
        case 0 where random.chance(10): 4_000_000
        case 0...2: random.next(below: 3_500_000)
        default: 54_000 + random.next(below: 4_000)
        }
    }

    private mutating func common(
        _ app: Int, _ session: String, at: Int64, now: Int64
    ) -> String {
        let device = "d\(client)-\(sessions % 200)"
        let drift: Int64 = random.chance(5) ? 7_200_000 : 0
        return #""app":"\#(Self.apps[app])","id":"e\#(random.next())","session":"\#(session)","#
            + #""device":"\#(device)","at":\#(at + drift),"sent":\#(now + drift)"#
    }
}
