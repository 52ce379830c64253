// Plays an evaluator for measurements of the edge: writes a fleet's states into a log, or a change
// now and then, and says when the log took it. Used by the scripts beside.
//     EdgeBench fleet LOG APPS              a state for each of so many apps, and an epoch
//     EdgeBench changes LOG COUNT EVERY_MS  changes of one app, `bench`; a line each
import BrakeModel
import BrakeWire
import EventLog
import Glibc
import KafkaLog
import Runtime
import SQLiteLog

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
    print("usage: EdgeBench fleet LOG APPS | changes LOG COUNT EVERY_MS")
    exit(2)
}

func openLog(_ place: String) throws -> any EventLog {
    let parts = place.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else {
        throw LogFault("open", at: place, reason: "no log", remedy: .stop)
    }
    if parts[0] == "sqlite" { return try SQLiteLog(path: String(parts[1])) }
    var settings = KafkaSettings(bootstrap: String(parts[1]))
    settings.instance = "bench"
    return try KafkaLog(settings)
}

/// A record as the evaluator writes it, with three windows as a reason.
func record(_ name: String, _ state: ThrottleState, revision: Int64, _ log: any EventLog)
    -> OutgoingRecord?
{
    guard let app = AppID(name) else { return nil }
    let now = LogClock.wall.now()
    let home = Partitioner.partition(of: app.text.utf8, partitions: log.partitions)
    var windows: [WindowCounts] = []
    for seconds in [60, 600, 3_600] {
        var window = WindowCounts(windowSeconds: seconds)
        window.sessions = 40 * seconds
        window.crashes = seconds / 10
        window.crashedSessions = seconds / 10
        window.rate = 0.9975
        window.low = 0.9961234567891
        window.high = 0.9984123456789
        windows.append(window)
    }
    let change = ThrottleChange(
        app: app, state: state, since: now, revision: revision, policy: "default", cause: .rule,
        why: Why(clock: now, rule: "throttle-600", windows: windows))
    let value = ThrottleRecord(change: change, partition: home, epoch: revision).encode()
    return OutgoingRecord(.throttle, partition: home, key: Array(name.utf8), value: value)
}

func epochs(_ number: Int64, _ log: any EventLog) -> [OutgoingRecord] {
    (0..<log.partitions).map { place in
        let epoch = EpochRecord(
            number: number, generation: 1, partition: place, clock: LogClock.wall.now(),
            offsets: EpochRecord.Offsets(), policies: [], changes: 0, checksum: 0, snapshots: [],
            throttleEnd: 0)
        return OutgoingRecord(.epoch, partition: place, key: nil, value: epoch.encode())
    }
}

let log = try openLog(arguments[2])
let count = Int(arguments[3]) ?? 0
switch arguments[1] {
case "fleet":
    for start in stride(from: 0, to: count, by: 1_000) {
        let apps = start..<min(start + 1_000, count)
        try log.append(
            apps.compactMap { index in
                let state = ThrottleState.allCases[index % 50 == 0 ? index / 50 % 4 : 0]
                return record("com.example.app-\(index)", state, revision: 1, log)
            })
    }
    try log.append(epochs(1, log))
default:
    let every = arguments.count > 4 ? Int(arguments[4]) ?? 1_000 : 1_000
    let pause = StopSignal()
    for number in 1...max(1, count) {
        let state: ThrottleState = number % 2 == 0 ? .caution : .halt
        guard let change = record("bench", state, revision: Int64(number), log) else { continue }
        let before = LogClock.wall.now()
        try log.append([change] + epochs(Int64(number), log))
        print("{\"revision\":\(number),\"before\":\(before),\"after\":\(LogClock.wall.now())}")
        pause.wait(milliseconds: every)
    }
}
log.close()
