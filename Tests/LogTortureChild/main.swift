// The process that tests kill, or that reads beside them:
//     LogTortureChild write PATH RUN    appends and commits until it dies, says what it was told
//     LogTortureChild follow PATH COUNT prints the keys of so many sessions as they come
import EventLog
import Foundation
import SQLiteLog

/// One line to the parent. A pipe takes a line this short whole, or not at all.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    let written = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    if written != bytes.count { exit(3) }
}

func runOrExit(_ body: () throws -> Void) {
    do {
        try body()
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(2)
    }
}

/// Appends records named RUN/thread/number and says `a KEY KEY ...` once they are there.
func appendForEver(_ log: SQLiteLog, run: String, thread: Int) throws {
    var number = 0
    while true {
        let keys = (0..<(1 + number % 7)).map { "\(run)/\(thread)/\(number + $0)" }
        number += keys.count
        let bytes = [10, 300, 20_000][number % 3]
        try log.append(
            keys.enumerated().map { index, key in
                OutgoingRecord(
                    .session, partition: (thread + index) % 4, key: Array(key.utf8),
                    value: [UInt8](repeating: UInt8(ascii: "v"), count: bytes))
            })
        say("a " + keys.joined(separator: " "))
    }
}

/// Commits epochs: all their outputs carry RUN/number, all positions are the number.
func commitForEver(_ log: SQLiteLog, run: String) throws {
    let worker = try log.makeWorker(lane: 0)
    while try worker.pollAssignment(waitMilliseconds: 0) != nil {}
    var number = try worker.committedPositions(partition: 0).values.first ?? 0
    while true {
        number += 1
        let value = Array("\(run)/\(number)".utf8)
        var outputs = [OutgoingRecord(.notice, partition: 0, key: nil, value: value)]
        var positions: [TopicPartition: Int64] = [:]
        for partition in 0..<4 {
            outputs.append(OutgoingRecord(.epoch, partition: partition, key: nil, value: value))
            outputs.append(
                OutgoingRecord(.throttle, partition: partition, key: value, value: value))
            for topic in Topic.inputs { positions[TopicPartition(topic, partition)] = number }
        }
        _ = try worker.commit(outputs, positions: positions)
        say("c \(run)/\(number)")
    }
}

func follow(_ log: SQLiteLog, count: Int) throws {
    let places = log.places(of: .session)
    let reader = try log.makeReader(from: .init(uniqueKeysWithValues: places.map { ($0, 0) }))
    let batch = LogBatch()
    var seen = 0
    say("ready")
    while seen < count {
        _ = try reader.poll(into: batch, waitMilliseconds: 10_000)
        for record in batch.records {
            say(unsafe record.key.map { unsafe String(decoding: $0, as: UTF8.self) } ?? "none")
        }
        seen += batch.records.count
    }
    reader.close()
}

let arguments = CommandLine.arguments
guard arguments.count == 4 else {
    print("usage: LogTortureChild write PATH RUN | follow PATH COUNT")
    exit(64)
}
// A parent that dies takes its child with it in the end.
alarm(60)
runOrExit {
    let log = try SQLiteLog(path: arguments[2])
    if arguments[1] == "follow" {
        try follow(log, count: Int(arguments[3]) ?? 1)
        log.close()
        exit(0)
    }
    let run = arguments[3]
    for thread in 0..<3 {
        Thread { runOrExit { try appendForEver(log, run: run, thread: thread) } }.start()
    }
    Thread { runOrExit { while true { _ = try log.maintain() } } }.start()
    try commitForEver(log, run: run)
}
