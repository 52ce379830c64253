// Random inputs of `adbrake replay`, by kind and seed: apps that are well and ill by turns, and
// uploads that are late, repeated, from wrong clocks, or broken.

import BrakeModel

struct RandomStream {
    /// 2023-11-15 00:00 UTC: a multiple of every step and of every tick in use but 7 000 ms.
    static let epoch: Int64 = 1_700_006_400_000

    private var random: SeededGenerator
    private let habits: StreamHabits
    private let tick: Int64
    private let span: Int64
    private var now = RandomStream.epoch
    private var lines: [(append: Int64, value: String)] = []
    private var isIll: [Bool]
    private var phaseEnd: [Int64]
    private var count = 0

    /// The lines of a stream, in the order of their append times.
    static func lines(_ kind: StreamKind, tick: Int64, seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed &* 64 &+ kind.number)
        let habits = StreamHabits(kind, random: &random)
        var stream = RandomStream(habits: habits, tick: tick, random: random)
        stream.run()
        return stream.lines.enumerated()
            .sorted { ($0.element.append, $0.offset) < ($1.element.append, $1.offset) }
            .map { _, line in
                line.value.isEmpty
                    ? "{\"append\":\(line.append)}"
                    : "{\"append\":\(line.append),\"value\":\(line.value)}"
            }
    }

    private init(habits: StreamHabits, tick: Int64, random: SeededGenerator) {
        self.habits = habits
        self.tick = tick
        self.random = random
        // Long enough for the states to move, short enough for a second's ticks to stay cheap.
        let minutes =
            tick < 1_000
            ? 8...25
            : tick < 5_000
                ? 40...140
                : tick < 60_000
                    ? 120...360 : 240...2_400
        span = Int64(self.random.number(minutes)) * 60_000
        isIll = Array(repeating: false, count: habits.apps)
        phaseEnd = Array(repeating: 0, count: habits.apps)
    }

    private mutating func run() {
        now += random.number(0...90_000)
        let end = now + span
        let step = span / Int64(habits.uploads)
        while now < end {
            let app = random.number(0...habits.apps - 1)
            turn(app)
            upload(app)
            if random.chance(habits.repeatShare) { repeatSomething(until: end) }
            if random.chance(habits.rejectedShare) { emit(rejectedValue(app), at: now) }
            if random.chance(habits.noiseShare) { emit(noise(app), at: now) }
            if random.chance(0.05) { emit("", at: now) }
            now += random.number(0...2 * step)
            if random.chance(habits.gapShare) { now += random.number(span / 8...span) }
            if random.chance(habits.edgeShare) {
                now = max(now, (now / tick + 1) * tick + random.number(-1...1))
            }
        }
        emit("", at: max(now, end) + random.pick([0, 1, tick, 900_000]))
    }

    private mutating func turn(_ app: Int) {
        guard now >= phaseEnd[app] else { return }
        isIll[app] = random.chance(0.5)
        phaseEnd[app] = now + random.number(span / 50...Int64(Double(span) * habits.phaseShare))
    }

    private mutating func emit(_ value: String, at append: Int64) {
        lines.append((append, value))
    }

    /// Sends one or the other of the lines so far again, also at the very edge of the horizons.
    private mutating func repeatSomething(until end: Int64) {
        guard !lines.isEmpty else { return }
        let line = random.pick(lines)
        let edges = [3_600_000, 86_400_000].map { line.append + $0 + random.number(-1...1) }
            .filter { $0 > now && $0 < end }
        emit(line.value, at: edges.isEmpty || random.chance(0.3) ? now : random.pick(edges))
    }
}

// MARK: - What an upload brings

extension RandomStream {
    /// A session as the device knows it.
    private struct Session {
        let app: String
        let id: String?
        let device: String?
        let start: Int64
        /// How far the device's clock is ahead.
        let offset: Int64
    }

    private mutating func upload(_ app: Int) {
        let name = "app-\(app)"
        var starts: [String] = []
        var alive: [String] = []
        var crashes: [String] = []
        for _ in 0..<random.number(habits.startsPerUpload) {
            if isIll[app], !random.chance(habits.startShareIll) { continue }
            let session = session(name)
            starts.append(start(session))
            if random.chance(isIll[app] ? habits.aliveShareIll : habits.aliveShareWell) {
                alive.append(self.alive(session))
            }
            let crashShare = isIll[app] ? habits.crashShareIll : habits.crashShareWell
            guard random.chance(crashShare) else { continue }
            crashes.append(crash(session))
            while random.chance(habits.againShare) { crashes.append(crash(session)) }
        }
        if random.chance(habits.orphanShare) {
            // The crash is uploaded at the next launch, before or without its session.
            emitAll(crashes)
            now += random.number(0...tick * 2)
            emitAll(starts)
        } else {
            emitAll(starts)
            if random.chance(0.3) { now += random.number(0...tick * 2) }
            emitAll(crashes)
        }
        emitAll(alive)
    }

    private mutating func emitAll(_ events: [String]) {
        guard !events.isEmpty else { return }
        if random.chance(habits.arrayShare) {
            var elements: [String] = []
            for event in events {
                elements.append(event)
                if random.chance(habits.badElementShare) { elements.append(brokenElement()) }
            }
            emit("[\(elements.joined(separator: ","))]", at: now)
        } else {
            for event in events { emit(event, at: now) }
        }
    }

    private mutating func session(_ app: String) -> Session {
        var start = now
        if random.chance(habits.lateShare) {
            start -= random.number(0...habits.latestMilliseconds)
        } else if random.chance(0.7) {
            start -= random.number(0...20_000)
        }
        if random.chance(habits.edgeShare) {
            let step = random.pick([1_000, 10_000, 60_000] as [Int64])
            start = start / step * step + random.number(-1...1)
        }
        if random.chance(habits.futureShare) {
            start = now + random.pick([1, 59_999, 60_000, 60_001, 86_400_000, 1_209_600_000])
        }
        var offset: Int64 = 0
        if random.chance(habits.driftShare) {
            offset = random.pick([-60_001, -60_000, -59_999, 59_999, 60_000, 60_001])
            if random.chance(0.7) { offset = random.number(-40_000_000_000...40_000_000_000) }
        }
        count += 1
        return Session(
            app: app, id: random.chance(habits.sessionIDShare) ? "s\(count)" : nil,
            device: random.chance(0.97) ? "d\(random.number(0...habits.devices - 1))" : nil,
            start: start, offset: offset)
    }

    private mutating func start(_ session: Session) -> String {
        var fields = common("session", session, at: session.start)
        if random.chance(0.3) { fields.append("\"phase\":\"start\"") }
        if random.chance(0.05) { fields.append("\"foreground\":false") }
        return object(fields)
    }

    private mutating func alive(_ session: Session) -> String {
        let fields = common("session", session, at: min(session.start + 10_000, now))
        return object(fields + ["\"phase\":\"alive\""])
    }

    private mutating func crash(_ session: Session) -> String {
        let lived = random.pick([0, 1, 900, 45_000, 700_000] as [Int64])
        let time = session.start + random.number(0...lived)
        var fields = common("crash", session, at: time)
        count += 1
        if random.chance(habits.eventIDShare) { fields.append("\"id\":\"c\(count)\"") }
        if random.chance(habits.sessionAtShare) {
            let start = random.chance(0.9) ? session.start : time + random.number(0...2)
            fields.append("\"session_at\":" + written(start + session.offset))
        }
        if random.chance(0.03) { fields.append("\"session_at\":0") }
        if random.chance(0.05) { fields.append("\"fatal\":false") }
        if random.chance(0.3) { fields.append("\"kind\":\"signal\"") }
        return object(fields)
    }

    private mutating func common(
        _ type: String, _ session: Session, at time: Int64
    ) -> [String] {
        var fields = ["\"type\":\"\(type)\"", "\"app\":\"\(session.app)\""]
        if let id = session.id { fields.append("\"session\":\"\(id)\"") }
        if let device = session.device { fields.append("\"device\":\"\(device)\"") }
        if random.chance(0.95) { fields.append("\"at\":" + written(time + session.offset)) }
        if session.offset != 0 || random.chance(0.2) {
            fields.append("\"sent\":" + written(now + session.offset))
        }
        return fields
    }

    /// A time in ms, written in one of the units a device may use.
    private mutating func written(_ time: Int64) -> String {
        guard random.chance(habits.otherUnitShare) else { return "\(time)" }
        let thousandths = String(1_000 + time % 1_000).dropFirst()
        switch random.number(0...6) {
        case 0: return "\(time / 1_000)"
        case 1: return "\(time / 1_000).\(thousandths)"
        case 2: return "\(time).\(random.number(0...9))"
        case 3: return "\(time * 1_000 + random.pick([-500, 499, random.number(-500...499)]))"
        case 4:
            return
                "\(time * 1_000_000 + random.pick([-500_000, 499_999, random.number(0...9_999)]))"
        case 5: return "\(time).0"
        default: return "\(time / 1_000).\(thousandths)e0"
        }
    }

    private mutating func object(_ fields: [String]) -> String {
        var fields = fields
        if random.chance(0.2) { fields.append("\"unknown\":{\"a\":[1,2.5,null,\"x\\\"\"]}") }
        if random.chance(0.1) { fields.append("\"build\":null") }
        let start = random.number(0...fields.count - 1)
        return "{" + (fields[start...] + fields[..<start]).joined(separator: ",") + "}"
    }
}

// MARK: - What must not count

extension RandomStream {
    /// Facts that make an app known but never enter its crash-free rate.
    private mutating func noise(_ app: Int) -> String {
        let app = random.chance(0.2) ? "quiet-\(app)" : "app-\(app)"
        let fields = random.pick([
            #""type":"session","phase":"end","session":"s1""#,
            #""type":"session","phase":"paused""#,
            #""type":"session","foreground":false,"session":"s\#(count + 1)""#,
            #""type":"crash","fatal":false,"id":"c\#(count + 1)","session":"s\#(count + 2)""#,
            #""type":"soft_error","severity":"error","domain":"d","code":"7""#,
            #""type":"soft_error","severity":"unheard-of","signal":"slow_dismiss""#,
            #""type":"ad_event","event":"shown","unit":"u","format":"banner""#,
            #""type":"ad_event","event":"load_failed","error_code":"no_fill""#,
            #""type":"ad_event","event":"shown","unit":"u","count":\#(random.number(1...400))"#,
            #""type":"ad_event","event":"load_failed","count":2.0"#,
            #""type":"session","phase":"end","count":"not of sessions""#,
            #""type":"ad_event","event":"unheard-of","dismiss_delay_ms":12"#,
            #""type":"session","at":5"#,
            #""type":"crash","at":0.0001,"id":"old""#,
        ])
        return "{\"app\":\"\(app)\",\(fields)}"
    }

    /// A value that is rejected as a whole.
    private mutating func rejectedValue(_ app: Int) -> String {
        let long = String(repeating: "x", count: 80)
        let head = "{\"type\":\"crash\",\"app\":\"app-\(app)\",\"session\":\"s\(count + 1)\""
        return random.pick([
            "null", "17", "\"text\"", "{}", "[]", "[null]", "[17,{}]",
            #"{"type":"crash"}"#, #"{"app":"ghost"}"#,
            #"{"type":"unheard-of","app":"ghost"}"#, #"{"type":"session","app":""}"#,
            #"{"type":"session","app":"a b"}"#, #"{"type":"session","app":"\#(long)"}"#,
            #"{"type":7,"app":"ghost"}"#, #"{"type":"session","app":7}"#,
            head + ",\"at\":0}", head + ",\"at\":-1}", head + ",\"at\":\"now\"}",
            head + ",\"at\":true}", head + ",\"sent\":0}", head + ",\"sent\":-5.5}",
            head + ",\"sent\":[]}", head + ",\"fatal\":\"yes\"}", head + ",\"id\":12}",
            head + ",\"id\":\"\(long)\"}", head + ",\"device\":{}}",
            #"{"type":"session","app":"ghost","at":{}}"#,
            #"{"type":"session","app":"ghost","foreground":1}"#,
            #"{"type":"session","app":"ghost","phase":7}"#,
            #"{"type":"ad_event","app":"ghost","count":0}"#,
            #"{"type":"ad_event","app":"ghost","event":"shown","count":1.5}"#,
            #"{"type":"ad_event","app":"ghost","count":1000001}"#,
        ])
    }

    /// An element that is set aside alone.
    private mutating func brokenElement() -> String {
        random.pick([
            "null", "7", "\"x\"", "[]", "{}", #"{"type":"session"}"#, #"{"app":"ghost"}"#,
            #"{"type":"crash","app":"app-0","at":-1}"#,
            #"{"type":"session","app":"app-0","sent":"soon"}"#,
            #"{"type":"session","app":"other-app"}"#, #"{"type":"ad_event","app":"app-0"}"#,
        ])
    }
}
