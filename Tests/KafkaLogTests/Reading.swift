// How tests of this target write and read: texts, and waiting with deadlines.
import EventLog
import KafkaTestSupport
import Testing

/// All tests of the log on Kafka.
@Suite("Kafka")
struct KafkaTests {}

extension LogBatch {
    var values: [String?] {
        records.map { record in
            unsafe record.value.map { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension LogReader {
    /// Polls until every partition has ended, and returns the values.
    func readToEnd() throws -> [String?] {
        let batch = LogBatch()
        var values: [String?] = []
        return try eventually("the end of \(positions.keys.sorted())") {
            let outcome = try poll(into: batch, waitMilliseconds: 20)
            values += batch.values
            return outcome.ended.count == positions.count ? values : nil
        }
    }
}

extension EventLog {
    func readAll(_ topic: Topic, _ partition: Int = 0) throws -> [String?] {
        let place = TopicPartition(topic, partition)
        let reader = try makeReader(from: [place: bounds(of: place).lowerBound])
        defer { reader.close() }
        return try reader.readToEnd()
    }
}

extension LogWorker {
    /// Commits, again and again while the commit is given back.
    @discardableResult
    func commitPatiently(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64],
        givenBack: (LogFault) -> Void = { print("given back: \($0)") }
    ) throws -> [TopicPartition: Int64] {
        try eventually("a commit of \(positions)") {
            do throws(LogFault) {
                return try commit(outputs, positions: positions)
            } catch {
                guard error.remedy == .retry else { throw error }
                givenBack(error)
                return nil
            }
        }
    }

    /// Waits for the next change of the assignment.
    func nextChange(seconds: Int = 60) throws -> AssignmentChange {
        try eventually("a change of the assignment", seconds: seconds) {
            do throws(LogFault) {
                return try pollAssignment(waitMilliseconds: 200)
            } catch {
                guard error.remedy == .retry else { throw error }
                print("given back: \(error)")
                return nil
            }
        }
    }

    /// Polls until so many records have come.
    func read(_ count: Int) throws -> [String?] {
        let batch = LogBatch()
        var values: [String?] = []
        return try eventually("\(count) records, not just \(values.count)") {
            _ = try poll(into: batch, waitMilliseconds: 50)
            values += batch.values
            return values.count >= count ? values : nil
        }
    }
}
