// The records that letters are about, read from the inputs as long as these keep them: a letter has
// the first kilobyte only.

import BrakeModel
import EventLog

/// Looks records of the inputs up by offset. Letters come about in the order of offsets, so each
/// partition's reader goes on where it was. One thread owns it; `close` ends it.
final class OriginalRecords {
    /// So many offsets further on, a new reader is quicker.
    private static let strideMax: Int64 = 10_000
    /// Readers that are open at once: each has its memory and, on Kafka, its connections.
    private static let sourcesMax = 8

    private final class Source {
        let scan: LogScan
        /// What was read last, by offset.
        var records: [Int64: [UInt8]] = [:]

        init(_ scan: LogScan) { self.scan = scan }
    }

    private let log: any EventLog
    private var sources: [TopicPartition: Source] = [:]

    init(_ log: any EventLog) {
        self.log = log
    }

    /// The value of a record; nil when it is no longer there, or never was.
    func value(of place: TopicPartition, at offset: Int64) throws(LogFault) -> [UInt8]? {
        guard (0..<log.partitionCount(of: place.topic)).contains(place.partition) else {
            return nil
        }
        if let value = sources[place]?.records[offset] { return value }
        guard try log.bounds(of: place).contains(offset) else { return nil }
        let source = try source(of: place, at: offset)
        while source.scan.position(place) <= offset {
            source.records.removeAll(keepingCapacity: true)
            let isMore = try source.scan.next { records in
                for record in records {
                    source.records[record.offset] =
                        unsafe record.value.map { unsafe [UInt8]($0) } ?? []
                }
            }
            guard isMore else { return nil }
        }
        return source.records[offset]
    }

    func close() {
        for source in sources.values { source.scan.close() }
        sources.removeAll()
    }

    private func source(of place: TopicPartition, at offset: Int64) throws(LogFault) -> Source {
        if let source = sources[place] {
            let position = source.scan.position(place)
            if position <= offset && offset - position < Self.strideMax { return source }
            source.scan.close()
            sources[place] = nil
        }
        if sources.count == Self.sourcesMax { close() }
        let source = Source(try LogScan(log, from: [place: offset]))
        sources[place] = source
        return source
    }
}
