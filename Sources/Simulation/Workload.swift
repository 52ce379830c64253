// What apps report in a simulation: well and ill by turns, late, repeated, from wrong clocks, and
// now and then nothing that could be used.

import BrakeModel
import EventLog

/// Makes uploads. All that it needs comes in: time, and numbers from the seed.
struct Workload {
    /// How many uploads are remembered, to be sent again.
    private static let rememberedMax = 60

    private struct App {
        let name: String
        var isIll = false
        var isDeadAtLaunch = false
        var isSilent = false
        /// How far its devices' clocks are ahead, when they are off.
        var drift: Int64 = 0
    }

    private var random: SimulationRandom
    private let partitions: Int
    private var apps: [App]
    /// Of all apps, whether they have been heard of yet or not.
    let appIDs: [AppID]
    private var sent: [OutgoingRecord] = []
    private var sessions = 0

    init(apps: Int, partitions: Int, random: SimulationRandom) {
        self.random = random
        self.partitions = partitions
        self.apps = (0..<apps).map { App(name: "app-\($0)") }
        appIDs = self.apps.compactMap { AppID($0.name) }
    }

    /// The records of some uploads.
    mutating func uploads(_ most: Int, at now: Int64) -> [OutgoingRecord] {
        var records: [OutgoingRecord] = []
        for _ in 0..<random.number(0...most) {
            let index = random.number(0...apps.count - 1)
            turn(index)
            if random.chance(0.03) { records.append(poison(apps[index].name)) }
            if random.chance(0.08), !sent.isEmpty { records.append(random.pick(sent)) }
            if apps[index].isSilent { continue }
            records += upload(of: apps[index], at: now)
        }
        for record in records {
            if sent.count < Self.rememberedMax {
                sent.append(record)
            } else {
                sent[random.number(0...sent.count - 1)] = record
            }
        }
        return records
    }

    private mutating func turn(_ index: Int) {
        if random.chance(0.04) { apps[index].isIll = random.chance(0.5) }
        if random.chance(0.01) { apps[index].isDeadAtLaunch = random.chance(0.5) }
        if random.chance(0.01) { apps[index].isSilent = random.chance(0.6) }
        if random.chance(0.01) {
            apps[index].drift =
                random.chance(0.7) ? 0 : random.number(Int64(-4_000_000)...4_000_000)
        }
    }

    private mutating func upload(of app: App, at now: Int64) -> [OutgoingRecord] {
        var starts: [String] = []
        var crashes: [String] = []
        var others: [String] = []
        let late = random.number(Int64(0)...(random.chance(0.1) ? 4_000_000 : 3_000))
        for _ in 0..<random.number(1...12) {
            sessions += 1
            let session = #""session":"s\#(sessions)","#
            let began = now - late - random.number(Int64(0)...20_000)
            starts.append(event("session", app, session, at: began, now))
            if random.chance(app.isDeadAtLaunch ? 0.05 : 0.9) {
                starts.append(
                    event("session", app, #""phase":"alive","# + session, at: began + 10_000, now))
            }
            guard random.chance(app.isIll ? 0.4 : 0.01) else { continue }
            let device = #""device":"d\#(random.number(0...40))","#
            let id = random.chance(0.95) ? #""id":"c\#(sessions)","# : ""
            let own = random.chance(0.1) ? "" : session
            crashes.append(event("crash", app, own + device + id, at: now - late, now))
        }
        if random.chance(0.3) {
            let what = random.pick(["shown", "load_failed", "clicked", "dismissed"])
            let fields = #""event":"\#(what)","dismiss_delay_ms":\#(random.number(0...9_000)),"#
            others.append(
                event("ad_event", app, fields + country(), at: now - late, now))
        }
        var signals: [String] = []
        if random.chance(app.isIll ? 0.1 : 0.01) {
            let fields = #""signal":"quit_after_ad","# + country()
            signals.append(event("soft_error", app, fields, at: now - late, now))
        }
        // An upload of crashes and of the sessions that they belong to comes in any order.
        var records = [
            record(.session, app, starts), record(.crash, app, crashes),
            record(.adEvent, app, others), record(.softError, app, signals),
        ]
        if random.chance(0.5) { records.swapAt(0, 1) }
        return records.compactMap { $0 }
    }

    private mutating func country() -> String {
        random.chance(0.2) ? "" : #""country":"\#(random.pick(["DE", "FR", "US"]))","#
    }

    private mutating func event(
        _ type: String, _ app: App, _ fields: String, at: Int64, _ now: Int64
    ) -> String {
        var times = ""
        if random.chance(0.9) {
            times = #""at":\#(at + app.drift),"sent":\#(now + app.drift),"#
        }
        return #"{"type":"\#(type)",\#(times)\#(fields)"app":"\#(app.name)"}"#
    }

    private func record(_ type: EventType, _ app: App, _ events: [String]) -> OutgoingRecord? {
        guard let first = events.first else { return nil }
        let value = events.count == 1 ? first : "[\(events.joined(separator: ","))]"
        return record(type, key: Array(app.name.utf8), value: Array(value.utf8))
    }

    private func record(_ type: EventType, key: [UInt8]?, value: [UInt8]?) -> OutgoingRecord {
        OutgoingRecord(
            Topic.inputs[Int(type.rawValue)],
            partition: Partitioner.partition(of: key ?? [], partitions: partitions), key: key,
            value: value)
    }

    private mutating func poison(_ app: String) -> OutgoingRecord {
        let good = #"{"type":"crash","app":"\#(app)"}"#
        let values: [[UInt8]?] = [
            nil, [], [0xff, 0x00, 0x7b], Array(good.dropLast().utf8),
            Array(#"{"type":"session","app":"\#(app)"}"#.utf8),
            Array(#"[\#(good),{"type":"crash"},7]"#.utf8),
        ]
        return record(
            .crash, key: random.chance(0.8) ? Array(app.utf8) : nil, value: random.pick(values))
    }
}
