// Dead letters retried: in their order, each at most once.

package import BrakeModel
import BrakeWire
package import EventLog

/// Appends what letters are about to the inputs once more, as far as it can be used by now. One
/// thread owns it.
///
/// In one atomic append go the events of some letters, a mark that these letters have been retried,
/// and a letter for each event that still cannot be used though others of its record could. A run
/// that was broken off at any moment, or whose outcome is not known, is simply run again: it reads
/// the marks first. Of two runs at a time the later one fences the earlier.
package final class DeadRetry {
    /// The name of the appender that all runs share.
    static let appenderName = "dead-retry"
    /// What one append takes.
    static let groupLettersMax = 200
    static let groupBytesMax = 512 << 10
    /// How often a run begins anew after a fault of the log.
    static let attemptsMax = 5

    /// What came of the letters that were meant.
    package struct Outcome: Sendable, Equatable {
        /// Letters whose events were appended.
        package var retried = 0
        /// Events appended.
        package var events = 0
        /// Letters that were retried before.
        package var retriedBefore = 0
        /// Letters that still cannot be used, by reason.
        package var stillRefused: [Rejection: Int] = [:]
        /// Letters that cannot be retried, by why.
        package var left: [Obstacle: Int] = [:]

        package init() {}
    }

    /// Why a letter cannot be retried.
    package enum Obstacle: String, Sendable, CaseIterable {
        /// Longer than a letter keeps, and retention has deleted the record.
        case gone
        /// Longer than a letter keeps, of an upload: no topic ever had it.
        case cut
        /// Longer than a letter keeps, and where it was is another record.
        case differs
        /// About an app that was one too many, not about a record.
        case notARecord = "not_a_record"
        /// Reported under another app's key: it is retried only when that reason is asked for.
        case otherApp = "other_app"
    }

    private let log: any EventLog
    private let filter: DeadFilter
    private let by: String
    private let now: @Sendable () -> Int64
    private let topic: DeadTopic
    private let originals: OriginalRecords
    private let decoder = RetryDecoder()
    private var outcome = Outcome()
    /// Letters that this run has tried to append.
    private var attempted: Set<Int64> = []
    private var group = Group()

    private struct Group {
        var letters: [Int64] = []
        var events = 0
        var records: [OutgoingRecord] = []
        var bytes = 0
    }

    /// `by` stands in the marks, for whoever asks later; `now` gives ms since 1970.
    package init(
        _ log: any EventLog, filter: DeadFilter, by: String, now: @escaping @Sendable () -> Int64
    ) {
        self.log = log
        self.filter = filter
        self.by = by
        self.now = now
        topic = DeadTopic(log)
        originals = OriginalRecords(log)
    }

    /// Tells what a run would do, and changes nothing.
    package func rehearse() throws(LogFault) -> Outcome {
        defer { originals.close() }
        try attempt(with: nil, progress: { _ in })
        return outcome
    }

    /// Retries the letters that are in the topic now. `progress` hears how many were looked at.
    package func run(progress: (Int) -> Void = { _ in }) throws(LogFault) -> Outcome {
        defer { originals.close() }
        var attempts = 0
        while true {
            attempts += 1
            do throws(LogFault) {
                let appender = try log.makeExclusiveAppender(name: Self.appenderName)
                defer { appender.close() }
                try attempt(with: appender, progress: progress)
                return outcome
            } catch {
                guard error.remedy == .retry, attempts < Self.attemptsMax else { throw error }
                originals.close()
            }
        }
    }

    private func attempt(
        with appender: (any ExclusiveAppender)?, progress: (Int) -> Void
    ) throws(LogFault) {
        // Letters that come to be while this runs, as of events refused again, wait for another.
        let end = try topic.end()
        try topic.read { _ in }
        outcome = Outcome()
        group = Group()
        var seen = 0
        try topic.read(upTo: end) { letters throws(LogFault) in
            for stored in letters where filter.fits(stored) {
                try take(stored)
                if group.letters.count >= Self.groupLettersMax || group.bytes >= Self.groupBytesMax
                {
                    try flush(appender)
                }
            }
            seen += letters.count
            progress(seen)
        }
        try flush(appender)
    }

    private func take(_ stored: StoredLetter) throws(LogFault) {
        if topic.retried.contains(stored.number) {
            // In an attempt of this run whose answer was lost, or before it.
            if attempted.contains(stored.number) {
                outcome.retried += 1
            } else {
                outcome.retriedBefore += 1
            }
            return
        }
        switch try bytes(of: stored.letter) {
        case .failure(let obstacle): outcome.left[obstacle, default: 0] += 1
        case .success(let bytes): add(bytes, of: stored)
        }
    }

    private func add(_ bytes: [UInt8], of stored: StoredLetter) {
        let upload = decoder.decode(bytes, append: stored.letter.append)
        guard upload.accepted > 0 else {
            let reason = upload.rejected.first?.reason ?? .empty
            outcome.stillRefused[reason, default: 0] += 1
            return
        }
        var records = upload.records.map { record in
            let key = Array(record.app.text.utf8)
            return OutgoingRecord(
                Topic(record.type),
                partition: Partitioner.partition(of: key, partitions: log.partitions), key: key,
                value: record.value)
        }
        records += upload.rejected.map { event in
            let letter = stored.letter
            let rest = unsafe bytes.withUnsafeBytes { value in
                unsafe DeadLetter(
                    stage: .retry, topic: letter.topic, partition: letter.partition,
                    offset: letter.offset, append: letter.append, app: letter.app, event: event,
                    value: value)
            }
            return OutgoingRecord(.dead, partition: 0, key: nil, value: rest.encode())
        }
        group.letters.append(stored.number)
        group.events += upload.accepted
        group.records += records
        group.bytes += records.reduce(0) { $0 + $1.bytes }
    }

    /// Appends a group with its mark.
    private func flush(_ appender: (any ExclusiveAppender)?) throws(LogFault) {
        defer { group = Group() }
        guard !group.letters.isEmpty else { return }
        if let appender {
            attempted.formUnion(group.letters)
            let mark = RetriedMark(letters: group.letters, at: now(), by: by)
            try appender.append(
                group.records
                    + [OutgoingRecord(.dead, partition: 0, key: nil, value: mark.encode())])
        }
        outcome.retried += group.letters.count
        outcome.events += group.events
    }

    /// The whole of what a letter is about.
    private func bytes(
        of letter: DeadLetter
    ) throws(LogFault) -> Result<[UInt8], Obstacle> {
        if letter.event.reason == .tooManyApps { return .failure(.notARecord) }
        if letter.event.reason == .wrongApp, filter.reason != .wrongApp {
            return .failure(.otherApp)
        }
        if letter.isWhole { return .success(letter.excerpt) }
        guard let topic = Topic.inputs.first(where: { $0.name == letter.topic }),
            letter.offset >= 0
        else { return .failure(.cut) }
        let place = TopicPartition(topic, letter.partition)
        guard var value = try originals.value(of: place, at: letter.offset) else {
            return .failure(.gone)
        }
        if let index = letter.event.index {
            let elements = unsafe value.withUnsafeBytes { unsafe ArrayFrame.elements(of: $0) }
            guard let elements, elements.indices.contains(index) else { return .failure(.differs) }
            value = Array(value[elements[index]])
        }
        return value.starts(with: letter.excerpt) ? .success(value) : .failure(.differs)
    }
}

extension DeadRetry.Obstacle: Error {}
