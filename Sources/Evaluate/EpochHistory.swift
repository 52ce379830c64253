// The epochs of a partition, as its topic has them.

import BrakeModel
import BrakeWire
import EventLog

/// Reads the `epoch` topic from its end backwards, as far as it must: for the last epoch, or for
/// those from a number on. One thread owns it.
final class EpochHistory {
    /// Records looked at first for the last epoch; transaction markers take offsets too.
    private static let tail: Int64 = 64
    /// Offsets that an epoch takes at the most, as a rule: its record and markers of transactions.
    private static let offsetsPerEpoch: Int64 = 3

    private enum Goal {
        case last
        case range(ClosedRange<Int64>)
    }

    private let log: any EventLog
    private let place: TopicPartition
    private let goal: Goal
    private let reader = DocumentReader()
    private var distance: Int64
    private var scan: LogScan?
    private var isFromFirst = false
    /// Of the last epoch only it, else all from the number on that are still there, without a gap.
    private(set) var found: [EpochRecord] = []

    /// Looks for the last epoch.
    init(lastOf partition: Int, in log: any EventLog) {
        self.log = log
        place = TopicPartition(.epoch, partition)
        goal = .last
        distance = Self.tail
    }

    /// Looks for the epochs from a number to the last; those before it that are gone are left out.
    init(of partition: Int, from number: Int64, upTo last: EpochRecord, in log: any EventLog) {
        self.log = log
        place = TopicPartition(.epoch, partition)
        goal = .range(min(number, last.number)...last.number)
        distance = Self.offsetsPerEpoch * (last.number - number) + Self.tail
    }

    /// The last epoch committed, nil when there is none; waits for the log.
    static func last(of partition: Int, in log: any EventLog) throws(LogFault) -> EpochRecord? {
        try EpochHistory(lastOf: partition, in: log).all().last
    }

    /// All that it looks for; waits for the log.
    func all() throws(LogFault) -> [EpochRecord] {
        while try step(waitMilliseconds: LogScan.pollMilliseconds) != .done {}
        return found
    }

    /// Does the next piece of the search.
    func step(waitMilliseconds: Int) throws(LogFault) -> Piece {
        if scan == nil { scan = try begin() }
        guard let scan else { return .done }
        var rejection: String?
        let piece = try scan.next(waitMilliseconds: waitMilliseconds) { records in
            for record in records {
                guard let value = unsafe record.value else { continue }
                do throws(Rejection) {
                    take(unsafe try EpochRecord.decode(value, with: reader))
                } catch {
                    rejection = rejection ?? "offset \(record.offset): \(error.rawValue)"
                }
            }
        }
        if let rejection {
            throw LogFault(
                "restore", at: place.description, reason: "an epoch cannot be read: \(rejection)",
                hint: "written by a newer version, or not by adbrake", remedy: .stop)
        }
        guard piece == .done else { return piece }
        scan.close()
        self.scan = nil
        return try isReached() ? .done : .more
    }

    /// Starts to read from as far back as it seems to need; nil when the topic is empty.
    private func begin() throws(LogFault) -> LogScan? {
        let bounds = try log.bounds(of: place)
        guard !bounds.isEmpty else { return nil }
        let first = max(bounds.lowerBound, bounds.upperBound - distance)
        isFromFirst = first == bounds.lowerBound
        found.removeAll()
        return try LogScan(log, from: [place: first])
    }

    /// An epoch that is there again counts as it is there last: a broker may have committed an
    /// attempt that failed together with the one that succeeded. What comes late from another
    /// worker, of a generation before, does not count.
    private func take(_ epoch: EpochRecord) {
        if let last = found.last, epoch.generation < last.generation { return }
        guard case .range(let numbers) = goal else {
            found = [epoch]
            return
        }
        guard epoch.number <= numbers.upperBound else { return }
        while let last = found.last, last.number >= epoch.number { found.removeLast() }
        var epoch = epoch
        // Of a day's epochs there may be half a million: what they share is held once.
        if let last = found.last, last.policies == epoch.policies {
            epoch.policies = last.policies
        }
        epoch.snapshots = []
        found.append(epoch)
    }

    /// Whether it has read far enough; else the next reading begins earlier.
    private func isReached() throws(LogFault) -> Bool {
        switch goal {
        case .last:
            guard found.isEmpty, !isFromFirst else { return true }
            distance *= 8
            return false
        case .range(let numbers):
            let reaches = found.first.map { $0.number <= numbers.lowerBound } ?? false
            guard reaches || isFromFirst else {
                distance *= 2
                return false
            }
            found.removeAll { $0.number < numbers.lowerBound }
            try checkUnbroken()
            return true
        }
    }

    private func checkUnbroken() throws(LogFault) {
        for (one, next) in zip(found, found.dropFirst()) where next.number != one.number + 1 {
            throw LogFault(
                "restore", at: place.description,
                reason: "epoch \(next.number) follows epoch \(one.number)",
                hint: "records are missing in the middle of the topic", remedy: .stop)
        }
    }
}
