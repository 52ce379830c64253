// The states of a partition's apps as its table has them: where to begin when no snapshot is left.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// Reads the `throttle` table of a partition to its end. One thread owns it; `close` ends it.
final class PublishedStates {
    private let scan: LogScan
    private let reader = DocumentReader()
    private var states: [AppID: ThrottleRecord] = [:]
    /// Whether apps have been deleted that may have had their part in the checksums of epochs.
    private(set) var hasDeletions = false
    /// Offsets that have been read, and that there are.
    private(set) var offsetsRead: Int64 = 0
    let offsets: Int64
    private let place: TopicPartition
    private let first: Int64

    init(of partition: Int, in log: any EventLog) throws(LogFault) {
        place = TopicPartition(.throttle, partition)
        let bounds = try log.bounds(of: place)
        first = bounds.lowerBound
        offsets = bounds.upperBound - bounds.lowerBound
        scan = try LogScan(log, from: [place: bounds.lowerBound])
    }

    var count: Int { states.count }

    /// Reads the next records.
    func step(waitMilliseconds: Int) throws(LogFault) -> Piece {
        let piece = try scan.next(waitMilliseconds: waitMilliseconds) { records in
            for record in records { note(record) }
            offsetsRead = (records.last?.offset ?? first) - first
        }
        return piece
    }

    /// Takes a state, or the deletion of an app.
    private func note(_ record: LogRecord) {
        guard let value = unsafe record.value else {
            let key = unsafe record.key.map { unsafe String(decoding: $0, as: UTF8.self) }
            if let app = AppID(key ?? "") { states[app] = nil }
            hasDeletions = true
            return
        }
        if let state = unsafe try? ThrottleRecord.decode(value, with: reader) {
            // Somebody who was thought gone may have written an older one over it.
            let known = states[state.change.app]?.change.revision ?? 0
            if state.change.revision >= known { states[state.change.app] = state }
        }
    }

    /// Makes the apps known in their states.
    func seed(_ evaluator: inout Evaluator) {
        for app in states.keys.sorted() {
            if let state = states[app] { evaluator.seed(state.change) }
        }
    }

    func close() { scan.close() }
}
