// How fast the log on Kafka is read, and how long commits and appends take, on a broker that runs:
//     swift run -c release KafkaBench HOST:PORT [PREFIX] [PARTITIONS]
// Reads whatever the input topics hold; missing topics are created. Or it makes records of 20
// events out of single ones, in topics of another prefix:
//     swift run -c release KafkaBench HOST:PORT FROM-PREFIX PARTITIONS gather TO-PREFIX
import EventLog
import Foundation
import KafkaLog
import Runtime

let arguments = CommandLine.arguments
guard arguments.count >= 2, !arguments[1].hasPrefix("-") else {
    print("usage: KafkaBench HOST:PORT [PREFIX] [PARTITIONS]")
    exit(2)
}
var settings = KafkaSettings(bootstrap: arguments[1])
settings.prefix = arguments.count > 2 ? arguments[2] : KafkaSettings.defaultPrefix
settings.instance = "bench"
settings.log = { print($0.facility, $0.message) }
let partitions = arguments.count > 3 ? Int(arguments[3]) ?? 4 : 4

/// Seconds since some moment, and of processor time of this process.
func times() -> (wall: Double, processor: Double) {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let processor =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
    return (Double(LogClock.steady.now()) / 1_000, processor)
}

/// Reads all inputs to their ends.
func consume(_ log: KafkaLog) throws(LogFault) {
    var positions: [TopicPartition: Int64] = [:]
    for topic in Topic.inputs {
        for place in log.places(of: topic) {
            positions[place] = try log.bounds(of: place).lowerBound
        }
    }
    let before = times()
    let reader = try log.makeReader(from: positions)
    defer { reader.close() }
    let batch = LogBatch()
    var (records, bytes, polls, first) = (0, 0, 0, 0.0)
    while true {
        let outcome = try reader.poll(into: batch, waitMilliseconds: 100)
        if records == 0, !batch.isEmpty { first = times().wall }
        records += batch.records.count
        for record in batch.records {
            bytes += unsafe (record.key?.count ?? 0) + (record.value?.count ?? 0)
        }
        polls += 1
        if outcome.ended.count == positions.count { break }
    }
    batch.reset()
    let after = times()
    let (wall, processor) = (after.wall - before.wall, after.processor - before.processor)
    print(
        "read \(records) records, \(bytes / max(1, records)) bytes each, in \(polls) polls: "
            + "\(Int(Double(records) / (after.wall - first)))/s after the first, "
            + "\(Int(Double(records) / processor)) per processor second; "
            + "first after \(Int((first - before.wall) * 1_000)) ms of \(Int(wall * 1_000)) ms")
}

/// Commits epochs of 100 records with so long a pause between them.
func commit(_ worker: any LogWorker, rounds: Int, pauseMilliseconds: Int) throws(LogFault) {
    let value = [UInt8](repeating: UInt8(ascii: "v"), count: 190)
    let outputs = (0..<100).map { index in
        OutgoingRecord(
            .throttle, partition: index % partitions, key: Array("app-000123".utf8), value: value)
    }
    let pauses = StopSignal()
    var took: [Double] = []
    for round in -20..<rounds {
        pauses.wait(milliseconds: pauseMilliseconds)
        var positions: [TopicPartition: Int64] = [:]
        for partition in 0..<partitions {
            positions[TopicPartition(.session, partition)] = Int64(round + 20)
        }
        let start = ContinuousClock.now
        _ = try worker.commit(outputs, positions: positions)
        if round >= 0 { took.append((ContinuousClock.now - start) / .milliseconds(1)) }
    }
    took.sort()
    print(
        "commit of 100 records, pause \(pauseMilliseconds) ms, \(rounds) rounds: median "
            + String(
                format: "%.2f ms, p99 %.2f ms, max %.2f ms", took[rounds / 2],
                took[rounds * 99 / 100], took[rounds - 1]))
}

/// Appends from several threads, one call after the other in each.
func append(_ log: KafkaLog, threads: Int, calls: Int, perCall: Int) {
    let records = (0..<perCall).map { index in
        OutgoingRecord(
            .dead, partition: 0, key: Array("app.\(index)".utf8),
            value: [UInt8](repeating: UInt8(ascii: "v"), count: 200))
    }
    let before = times()
    DispatchQueue.concurrentPerform(iterations: threads) { _ in
        for _ in 0..<calls {
            do {
                try log.append(records)
            } catch {
                print(error)
                exit(1)
            }
        }
    }
    let after = times()
    let count = threads * calls * perCall
    print(
        "append from \(threads) threads, \(perCall) records a call: "
            + "\(Int(Double(count) / (after.wall - before.wall)))/s, "
            + String(
                format: "%.2f ms a call, ",
                (after.wall - before.wall) * 1_000 / Double(calls))
            + "\(Int(Double(count) / (after.processor - before.processor))) per processor second")
}

do {
    if arguments.count > 5, arguments[4] == "gather" {
        var target = settings
        target.prefix = arguments[5]
        try KafkaTopics(target, partitions: partitions, replicas: 1).create()
        try gather(from: KafkaLog(settings), into: KafkaLog(target), eventsPerRecord: 20)
        exit(0)
    }
    try KafkaTopics(settings, partitions: partitions, replicas: 1).create()
    let log = try KafkaLog(settings)
    for _ in 0..<3 { try consume(log) }
    let worker = try log.makeWorker(lane: 0)
    while try worker.pollAssignment(waitMilliseconds: 100) == nil {}
    try commit(worker, rounds: 300, pauseMilliseconds: 0)
    try commit(worker, rounds: 100, pauseMilliseconds: 200)
    worker.close()
    append(log, threads: 1, calls: 100, perCall: 4)
    append(log, threads: 4, calls: 100, perCall: 1_000)
    log.close()
} catch {
    print(error)
    exit(1)
}
