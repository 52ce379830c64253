// How fast the SQLite log appends, commits and is read, on the disk of the directory given:
//     swift run -c release LogBench [DIRECTORY]
import EventLog
import Foundation
import SQLiteLog

/// Seconds that the body takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start) / .seconds(1)
}

func withLog(_ name: String, in directory: String, _ body: (SQLiteLog) throws -> Void) throws {
    let path = "\(directory)/log-bench-\(UUID().uuidString).db"
    defer {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }
    let log = try SQLiteLog(path: path)
    defer { log.close() }
    print(name, terminator: ": ")
    try body(log)
}

func records(_ count: Int, bytes: Int) -> [OutgoingRecord] {
    (0..<count).map { index in
        .init(
            Topic.inputs[index / 16 % 4], partition: index % 16,
            key: Array("app.\(index % 999)".utf8),
            value: [UInt8](repeating: UInt8(ascii: "v"), count: bytes))
    }
}

func report(_ what: String, _ count: Int, bytes: Int, _ time: Double) {
    let perSecond = Int(Double(count) / time)
    print(
        "\(what) \(perSecond)/s, \(Int(Double(count * bytes) / time / 1e6)) MB/s", terminator: "; ")
}

func append(_ records: [OutgoingRecord], to log: SQLiteLog) {
    do {
        try log.append(records)
    } catch {
        print(error)
        exit(1)
    }
}

/// Appends from several threads, then reads everything.
func appendAndRead(_ log: SQLiteLog, calls: Int, perCall: Int, bytes: Int, threads: Int) throws {
    let work = records(perCall, bytes: bytes)
    let appending = seconds {
        let finished = DispatchGroup()
        for _ in 0..<threads {
            finished.enter()
            Thread {
                for _ in 0..<(calls / threads) { append(work, to: log) }
                finished.leave()
            }.start()
        }
        finished.wait()
    }
    report("appends", calls / threads * threads * perCall, bytes: bytes, appending)
    var count = 0
    let reading = try seconds {
        let places = Topic.inputs.flatMap { log.places(of: $0) }
        let reader = try log.makeReader(from: .init(uniqueKeysWithValues: places.map { ($0, 0) }))
        defer { reader.close() }
        let batch = LogBatch()
        var ended = 0
        while ended < places.count {
            ended = try reader.poll(into: batch, waitMilliseconds: 0).ended.count
            count += batch.records.count
        }
    }
    report("reads", count, bytes: bytes, reading)
    print()
}

let directory = CommandLine.arguments.dropFirst().first ?? "."

for (calls, perCall, bytes, threads) in [
    (400, 2_500, 200, 1), (4_000, 250, 200, 4), (2_000, 1, 200, 1), (8_000, 1, 200, 16),
    (3_000, 4, 20_000, 4), (1_000, 4, 100_000, 4), (500, 4, 200_000, 4),
] {
    let name = "\(threads) threads, \(perCall) records of \(bytes) bytes a call"
    try withLog(name, in: directory) { log in
        try appendAndRead(log, calls: calls, perCall: perCall, bytes: bytes, threads: threads)
    }
}
try withLog("epoch commits of 16 idle partitions", in: directory) { log in
    let worker = try log.makeWorker(lane: 0)
    defer { worker.close() }
    _ = try worker.pollAssignment(waitMilliseconds: 0)
    let outputs = (0..<16).map {
        OutgoingRecord(.epoch, partition: $0, key: nil, value: [UInt8](repeating: 65, count: 300))
    }
    var positions: [TopicPartition: Int64] = [:]
    for topic in Topic.inputs { for place in log.places(of: topic) { positions[place] = 0 } }
    let count = 500
    let time = try seconds {
        for _ in 0..<count { _ = try worker.commit(outputs, positions: positions) }
    }
    print("\(Int(time / Double(count) * 1e6)) µs each")
    let batch = LogBatch()
    for partition in 0..<16 { try worker.start(partition: partition, at: [:]) }
    let polling = try seconds {
        for _ in 0..<1_000 { _ = try worker.poll(into: batch, waitMilliseconds: 0) }
    }
    print("idle poll of 64 partitions: \(Int(polling / 1_000 * 1e6)) µs")
}
