// The epochs of a partition, as its topic has them.

import BrakeModel
import BrakeWire
import EventLog

/// Reads the `epoch` topic from its end backwards, as far as it must.
struct EpochHistory {
    let log: any EventLog
    let partition: Int
    /// Records looked at first for the last epoch; transaction markers take offsets too.
    private static let tail: Int64 = 64
    /// Read at once while looking for an epoch.
    private static let probeBytes = 16 << 10

    private var place: TopicPartition { TopicPartition(.epoch, partition) }

    /// The last epoch committed, nil when there is none.
    func last() throws(LogFault) -> EpochRecord? {
        let bounds = try log.bounds(of: place)
        var distance = Self.tail
        while !bounds.isEmpty {
            let first = max(bounds.lowerBound, bounds.upperBound - distance)
            if let last = try read(from: first).last { return last }
            if first == bounds.lowerBound { return nil }
            distance *= 8
        }
        return nil
    }

    /// The epochs from a number to the last, without a gap; those before it that are gone are left
    /// out.
    func epochs(from number: Int64, upTo last: EpochRecord) throws(LogFault) -> [EpochRecord] {
        let bounds = try log.bounds(of: place)
        var distance = 3 * (last.number - number) + Self.tail
        while true {
            let first = max(bounds.lowerBound, bounds.upperBound - distance)
            let epochs = try read(from: first).filter { $0.number <= last.number }
            if first == bounds.lowerBound || epochs.first.map({ $0.number <= number }) ?? false {
                let wanted = epochs.filter { $0.number >= number }
                try checkUnbroken(wanted)
                return wanted
            }
            distance *= 2
        }
    }

    /// The last epoch for which something holds that holds for all before it, too; nil when it does
    /// not hold for the first that is there. O(log epochs) reads.
    func last(where holds: (EpochRecord) -> Bool) throws(LogFault) -> EpochRecord? {
        let bounds = try log.bounds(of: place)
        var low = bounds.lowerBound
        var high = bounds.upperBound
        var found: EpochRecord?
        // Below `low` it holds for each epoch, from `high` on for none.
        while low < high {
            let middle = low + (high - low) / 2
            guard let probe = try first(from: middle), holds(probe) else {
                high = middle
                continue
            }
            found = probe
            low = middle + 1
        }
        return found
    }

    /// The first epoch at an offset or after it.
    private func first(from offset: Int64) throws(LogFault) -> EpochRecord? {
        let scan = try LogScan(log, from: [place: offset], batchBytes: Self.probeBytes)
        defer { scan.close() }
        let reader = DocumentReader()
        var first: EpochRecord?
        while first == nil {
            let isMore = try scan.next { records in
                for record in records where first == nil {
                    guard let value = unsafe record.value else { continue }
                    first = unsafe try? EpochRecord.decode(value, with: reader)
                }
            }
            if !isMore { break }
        }
        return first
    }

    private func checkUnbroken(_ epochs: [EpochRecord]) throws(LogFault) {
        for (one, next) in zip(epochs, epochs.dropFirst()) where next.number != one.number + 1 {
            throw LogFault(
                "restore", at: place.description,
                reason: "epoch \(next.number) follows epoch \(one.number)",
                hint: "records are missing in the middle of the topic", remedy: .stop)
        }
    }

    private func read(from offset: Int64) throws(LogFault) -> [EpochRecord] {
        let scan = try LogScan(log, from: [place: offset])
        defer { scan.close() }
        let reader = DocumentReader()
        var epochs: [EpochRecord] = []
        var rejection: String?
        while try scan.next({ records in
            for record in records {
                guard let value = unsafe record.value else { continue }
                do throws(Rejection) {
                    epochs.append(unsafe try EpochRecord.decode(value, with: reader))
                } catch {
                    rejection = rejection ?? "offset \(record.offset): \(error.rawValue)"
                }
            }
        }) {}
        if let rejection {
            throw LogFault(
                "restore", at: place.description, reason: "an epoch cannot be read: \(rejection)",
                hint: "written by a newer version, or not by adbrake", remedy: .stop)
        }
        return epochs
    }
}
