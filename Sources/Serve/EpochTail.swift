// The last epoch of each partition. Offsets say little about where it is: commit markers take some,
// too, so it is looked for backwards in growing steps.

import BrakeModel
import BrakeWire
import EventLog

/// Looks for the last epochs before a start. One thread owns it.
struct EpochTail {
    private static let firstStep: Int64 = 32
    /// Each step further back is so many times as long.
    private static let growth: Int64 = 16
    private static let pollMilliseconds = 200

    private let log: any EventLog
    private let reader = DocumentReader()
    private let batch = LogBatch()

    init(of log: any EventLog) { self.log = log }

    /// The last epoch of each partition below these bounds; none for a partition without any.
    /// `isStopped` is asked between reads.
    func last(
        below bounds: [TopicPartition: Range<Int64>], isStopped: () -> Bool
    ) throws(LogFault) -> [Int: EpochMark] {
        var found: [Int: EpochMark] = [:]
        var missing = bounds.filter { !$0.value.isEmpty }
        var step = Self.firstStep
        while !missing.isEmpty, !isStopped() {
            let starts = missing.mapValues { max($0.lowerBound, $0.upperBound - step) }
            try read(from: starts, to: missing, into: &found, isStopped)
            missing = missing.filter { place, range in
                found[place.partition] == nil && starts[place] != range.lowerBound
            }
            step = min(step, Int64.max / Self.growth) * Self.growth
        }
        return found
    }

    private func read(
        from starts: [TopicPartition: Int64], to bounds: [TopicPartition: Range<Int64>],
        into found: inout [Int: EpochMark], _ isStopped: () -> Bool
    ) throws(LogFault) {
        let follower = try log.makeReader(from: starts)
        defer { follower.close() }
        var waiting = Set(starts.keys)
        while !waiting.isEmpty, !isStopped() {
            let outcome = try follower.poll(
                into: batch, waitMilliseconds: Self.pollMilliseconds)
            for record in batch.records {
                guard case .success(let mark) = EpochMark.read(record, with: reader) else {
                    continue
                }
                if let known = found[record.partition], mark.isOlder(than: known) { continue }
                found[record.partition] = mark
            }
            waiting = waiting.filter { place in
                let end = bounds[place]?.upperBound ?? 0
                return !outcome.ended.contains(place) && (follower.positions[place] ?? 0) < end
            }
        }
        batch.reset()
    }
}
