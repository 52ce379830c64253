// Measures how evaluators on Kafka come and go, on a broker that runs; run.sh beside it starts all:
//     KafkaTakeover fill HOST:PORT PREFIX APPS EVENTS PER_UPLOAD RATE AGE_SECONDS [FIRST]
//     KafkaTakeover counted|ready|gaps HOST:PORT PREFIX [SINCE [UNTIL]]
// `fill` appends uploads of one app each, RATE events a second (0: as fast as it goes), that have
// happened within so many seconds. The others read the epoch topic; times are ms since 1970.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import KafkaLog
import Runtime
import Synchronization

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
    print("usage: KafkaTakeover fill|counted|ready|gaps HOST:PORT PREFIX ...")
    exit(2)
}

func number(_ place: Int) -> Int {
    guard arguments.count > place, let number = Int(arguments[place]) else {
        print("argument \(place) has to be a number")
        exit(2)
    }
    return number
}

var settings = KafkaSettings(bootstrap: arguments[2])
settings.prefix = arguments[3]
settings.instance = "takeover"

/// Makes the uploads of a range of apps, each in its turn.
struct Uploads {
    let apps: Int
    let perUpload: Int
    let ageMilliseconds: UInt64
    var random: SeededGenerator
    var next: Int

    /// Adds the records of the next upload: an array of each type.
    mutating func add(to records: inout [OutgoingRecord], now: Int64, partitions: Int) {
        let key = Array("app-\(1_000_000 + next % apps)".utf8)
        next += 1
        let partition = Partitioner.partition(of: key, partitions: partitions)
        var values: [[UInt8]] = EventType.allCases.map { _ in [] }
        var counts = values.map { _ in 0 }
        for _ in 0..<perUpload {
            let (type, own) = kind()
            let place = Int(type.rawValue)
            values[place].append(UInt8(ascii: counts[place] == 0 ? "[" : ","))
            addEvent(of: key, type, own, now: now, to: &values[place])
            counts[place] += 1
        }
        for type in EventType.allCases where counts[Int(type.rawValue)] > 0 {
            var value = values[Int(type.rawValue)]
            if counts[Int(type.rawValue)] == 1 {
                value.removeFirst()
            } else {
                value.append(UInt8(ascii: "]"))
            }
            records.append(
                OutgoingRecord(Topic(type), partition: partition, key: key, value: value))
        }
    }

    /// 80 in 100 are ad events, a quarter of them impressions; 3 soft errors; the rest sessions, of
    /// which every second shows a sign of life, and some crashes.
    private mutating func kind() -> (EventType, StaticString) {
        switch random.next() % 10_000 {
        case ..<2_000: (.adEvent, "\"event\":\"shown\"}")
        case ..<8_000: (.adEvent, "\"event\":\"loaded\"}")
        case ..<8_300: (.softError, "\"severity\":\"error\"}")
        case ..<8_301: (.crash, "\"kind\":\"signal\"}")
        case ..<9_150: (.session, "\"phase\":\"alive\"}")
        default: (.session, "\"phase\":\"start\"}")
        }
    }

    private mutating func addEvent(
        of app: [UInt8], _ type: EventType, _ own: StaticString, now: Int64,
        to bytes: inout [UInt8]
    ) {
        let at = now - Int64(random.next() % max(1, ageMilliseconds))
        let id = random.next() >> 1
        switch type {
        case .session: bytes.add("{\"type\":\"session\",\"app\":\"")
        case .crash: bytes.add("{\"type\":\"crash\",\"app\":\"")
        case .softError: bytes.add("{\"type\":\"soft_error\",\"app\":\"")
        case .adEvent: bytes.add("{\"type\":\"ad_event\",\"app\":\"")
        }
        bytes += app
        bytes.add("\",\"id\":\"")
        bytes.add(id)
        bytes.add("\",\"session\":\"")
        bytes.add(id / 977)
        bytes.add("\",\"device\":\"d")
        bytes.add(id % 1_000_000)
        bytes.add("\",\"at\":")
        bytes.add(UInt64(at))
        bytes.add(",\"sent\":")
        bytes.add(UInt64(now))
        bytes.add(",\"build\":\"412\",\"os\":\"17.5\",\"country\":\"DE\",")
        bytes.add(own)
    }
}

extension [UInt8] {
    fileprivate mutating func add(_ text: StaticString) {
        text.withUTF8Buffer { unsafe append(contentsOf: $0) }
    }

    fileprivate mutating func add(_ number: UInt64) {
        let first = count
        var rest = number
        repeat {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        self[first...].reverse()
    }
}

func fill(_ log: KafkaLog) {
    let (apps, events, perUpload, rate) = (number(4), number(5), number(6), number(7))
    let age = number(8)
    let first = arguments.count > 9 ? number(9) : 0
    let threads = 2
    let bytes = Atomic<Int>(0)
    let count = Atomic<Int>(0)
    let begun = LogClock.steady.now()
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
        var uploads = Uploads(
            apps: apps, perUpload: perUpload, ageMilliseconds: UInt64(age) * 1_000,
            random: SeededGenerator(seed: UInt64(first + thread)),
            next: first + thread * apps / threads)
        let pauses = StopSignal()
        var sent = 0
        while sent < events / threads {
            var records: [OutgoingRecord] = []
            let now = LogClock.wall.now()
            let piece = rate > 0 ? max(1, rate / threads / perUpload / 20) : 20_000 / perUpload
            for _ in 0..<max(1, piece) {
                uploads.add(to: &records, now: now, partitions: log.partitions)
            }
            do { try log.append(records) } catch {
                print(error)
                exit(1)
            }
            sent += max(1, piece) * perUpload
            count.add(records.count, ordering: .relaxed)
            bytes.add(records.reduce(0) { $0 + ($1.value?.count ?? 0) }, ordering: .relaxed)
            guard rate > 0 else { continue }
            let due = begun + Int64(sent) * Int64(threads) * 1_000 / Int64(rate)
            pauses.wait(milliseconds: max(0, Int(due - LogClock.steady.now())))
        }
    }
    let seconds = Double(LogClock.steady.now() - begun) / 1_000
    let (records, total) = (count.load(ordering: .relaxed), bytes.load(ordering: .relaxed))
    print(
        "filled: \(events) events of \(apps) apps in \(records) records, "
            + "\(total / max(1, events)) bytes an event, "
            + String(format: "%.1f s, %.0f events/s", seconds, Double(events) / seconds))
}

/// The epochs of each partition with their append times.
func epochs(_ log: KafkaLog) throws -> [Int: [(append: Int64, epoch: EpochRecord)]] {
    var positions: [TopicPartition: Int64] = [:]
    for place in log.places(of: .epoch) { positions[place] = try log.bounds(of: place).lowerBound }
    let reader = try log.makeReader(from: positions)
    defer { reader.close() }
    let documents = DocumentReader()
    let batch = LogBatch()
    var found: [Int: [(append: Int64, epoch: EpochRecord)]] = [:]
    while true {
        let outcome = try reader.poll(into: batch, waitMilliseconds: 100)
        for record in batch.records {
            guard let value = unsafe record.value else { continue }
            let epoch = unsafe try EpochRecord.decode(value, with: documents)
            found[record.partition, default: []].append((record.append, epoch))
        }
        if outcome.ended.count == positions.count { return found }
    }
}

/// The ends of all inputs of a partition.
func ends(_ log: KafkaLog, _ partition: Int) throws -> [Int64] {
    try EventType.allCases.map {
        try log.bounds(of: TopicPartition(Topic($0), partition)).upperBound
    }
}

func reaches(_ epoch: EpochRecord, _ ends: [Int64]) -> Bool {
    zip(EventType.allCases, ends).allSatisfy { epoch.offsets[$0] >= $1 }
}

/// Waits until everything that is there has been counted.
func waitUntilCounted(_ log: KafkaLog) throws {
    let pauses = StopSignal()
    while true {
        let last = try epochs(log)
        let isCounted = try (0..<log.partitions).allSatisfy { partition in
            guard let epoch = last[partition]?.last?.epoch else { return false }
            return reaches(epoch, try ends(log, partition))
        }
        if isCounted { break }
        pauses.wait(milliseconds: 250)
    }
    let last = try epochs(log).values.compactMap { $0.last?.epoch }
    let bytes = last.reduce(0) { $0 + ($1.snapshots.first?.bytes ?? 0) }
    print("counted; the newest snapshots have \(bytes / 1_000_000) MB")
}

/// When each partition had first counted all that is there, since a time.
func tellReady(_ log: KafkaLog) throws {
    let since = Int64(number(4))
    var times: [Int64] = []
    for (partition, all) in try epochs(log) {
        let ends = try ends(log, partition)
        if let first = all.first(where: { $0.append >= since && reaches($0.epoch, ends) }) {
            times.append(first.append - since)
        }
    }
    times.sort()
    print(
        "ready: \(times.count) of \(log.partitions) partitions, the first after "
            + "\(times.first ?? -1) ms, the median \(times.isEmpty ? -1 : times[times.count / 2]) "
            + "ms, the last \(times.last ?? -1) ms")
}

/// How long each partition was without an epoch, at most, in a period; and how often epochs doubled
/// or were missing.
func tellGaps(_ log: KafkaLog) throws {
    let (since, until) = (Int64(number(4)), Int64(number(5)))
    var gaps: [(gap: Int64, behind: Int64, partition: Int)] = []
    var (broken, committed) = (0, 0)
    for (partition, all) in try epochs(log) {
        var (gap, behind): (Int64, Int64) = (0, 0)
        for (one, next) in zip(all, all.dropFirst()) {
            if next.epoch.number != one.epoch.number + 1 { broken += 1 }
            guard next.append >= since, one.append <= until else { continue }
            committed += 1
            gap = max(gap, next.append - one.append)
            behind = max(behind, next.append - next.epoch.clock)
        }
        gaps.append((gap, behind, partition))
    }
    gaps.sort { ($0.gap, $0.partition) < ($1.gap, $1.partition) }
    print(
        "gaps: \(committed) epochs of \(gaps.count) partitions, \(broken) out of order; the "
            + "longest without one \(gaps.last?.gap ?? 0) ms, the median \(gaps[gaps.count / 2].gap) ms; "
            + "the clock at most \(gaps.map(\.behind).max() ?? 0) ms behind at a commit")
    print("  by partition: " + gaps.map { "\($0.partition): \($0.gap)" }.joined(separator: ", "))
}

do {
    let log = try KafkaLog(settings)
    switch arguments[1] {
    case "fill": fill(log)
    case "counted": try waitUntilCounted(log)
    case "ready": try tellReady(log)
    case "gaps": try tellGaps(log)
    default:
        print("what is \(arguments[1])?")
        exit(2)
    }
    log.close()
} catch {
    print(error)
    exit(1)
}
