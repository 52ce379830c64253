// A log that takes its time: appends wait until a test lets them through.
import EventLog
import Runtime

final class HeldLog: EventLog {
    let memory = MemoryLog(partitions: 4)
    private let isHeld = Runtime.Monitor(false)

    var partitions: Int { memory.partitions }
    var place: String { memory.place }

    func hold(_ isHeld: Bool) { self.isHeld.withLock { $0 = isHeld } }

    func append(_ records: [OutgoingRecord]) throws(LogFault) {
        _ = isHeld.wait(milliseconds: 60_000) { $0 ? nil : true }
        try memory.append(records)
    }

    func bounds(of place: TopicPartition) throws(LogFault) -> Range<Int64> {
        memory.bounds(of: place)
    }

    func makeReader(from positions: [TopicPartition: Int64]) throws(LogFault) -> any LogReader {
        memory.makeReader(from: positions)
    }

    func makeWorker(lane: Int) throws(LogFault) -> any LogWorker { memory.makeWorker(lane: lane) }

    func makeExclusiveAppender(name: String) throws(LogFault) -> any ExclusiveAppender {
        memory.makeExclusiveAppender(name: name)
    }

    func maintain() throws(LogFault) -> Bool { memory.maintain() }
    func interrupt() { memory.interrupt() }
    func close() { memory.close() }
}

/// A record as tests look at it.
struct Stored: Equatable {
    var place: TopicPartition
    var key: String
    var value: String
    var append: Int64
}

extension EventLog {
    /// All records of the inputs, each partition in order.
    func stored(_ topic: Topic) throws -> [Stored] {
        var stored: [Stored] = []
        for place in places(of: topic) {
            let scan = try LogScan(self, from: [place: bounds(of: place).lowerBound])
            defer { scan.close() }
            while try scan.next({ records in
                for record in records {
                    let key = unsafe record.key.map { unsafe [UInt8]($0) } ?? []
                    let value = unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                    stored.append(
                        Stored(
                            place: place, key: String(decoding: key, as: UTF8.self),
                            value: String(decoding: value, as: UTF8.self), append: record.append))
                }
            }) {}
        }
        return stored
    }
}
