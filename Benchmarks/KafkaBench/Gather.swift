// Makes a backlog of arrays out of one of single events: what uploads of many events bring.
import EventLog
import KafkaLog

/// Events of one topic and app on their way into one record.
private struct Gathered {
    var partition: Int
    var events = 0
    var value: [UInt8] = [UInt8(ascii: "[")]

    mutating func add(_ event: UnsafeRawBufferPointer) {
        if events > 0 { value.append(UInt8(ascii: ",")) }
        unsafe value.append(contentsOf: event)
        events += 1
    }
}

/// Appends the events of all inputs of one log to those of another, so many of an app and type to a
/// record; what is left in the end goes into shorter ones.
func gather(
    from source: KafkaLog, into target: KafkaLog, eventsPerRecord: Int
) throws(LogFault) {
    let recordsPerAppend = 10_000
    for topic in Topic.inputs {
        var positions: [TopicPartition: Int64] = [:]
        for place in source.places(of: topic) {
            positions[place] = try source.bounds(of: place).lowerBound
        }
        let reader = try source.makeReader(from: positions)
        defer { reader.close() }
        let batch = LogBatch()
        var open: [[UInt8]: Gathered] = [:]
        var closed: [OutgoingRecord] = []
        var (events, records) = (0, 0)

        func close(_ app: [UInt8], _ gathered: Gathered) {
            closed.append(
                OutgoingRecord(
                    topic, partition: gathered.partition, key: app,
                    value: gathered.value + [UInt8(ascii: "]")]))
            events += gathered.events
            records += 1
        }
        while true {
            let outcome = try reader.poll(into: batch, waitMilliseconds: 100)
            for record in batch.records {
                guard let key = unsafe record.key, let value = unsafe record.value else { continue }
                let app = unsafe [UInt8](key)
                unsafe open[app, default: Gathered(partition: record.partition)].add(value)
                if let full = open[app], full.events == eventsPerRecord {
                    close(app, full)
                    open[app] = nil
                }
            }
            if closed.count >= recordsPerAppend {
                try target.append(closed)
                closed.removeAll(keepingCapacity: true)
            }
            if outcome.ended.count == positions.count { break }
        }
        for (app, rest) in open { close(app, rest) }
        try target.append(closed)
        print("\(topic.name): \(events) events in \(records) records")
    }
}
