// The last letters, for people who look what is wrong.

package import EventLog

/// The last letters that fit.
package struct DeadList: Sendable {
    /// In their order.
    package private(set) var letters: [(stored: StoredLetter, isRetried: Bool)] = []
    /// How many fit in all.
    package private(set) var count = 0
    /// Records of the topic that this build cannot read.
    package let unreadable: Int

    /// Reads what the log has now.
    package init(_ log: any EventLog, filter: DeadFilter, limit: Int) throws(LogFault) {
        let topic = DeadTopic(log)
        var last: [StoredLetter] = []
        var count = 0
        try topic.read { letters in
            let fitting = letters.filter(filter.fits)
            count += fitting.count
            last += fitting
            if last.count > limit { last.removeFirst(last.count - limit) }
        }
        self.count = count
        unreadable = topic.unreadable
        letters = last.map { ($0, topic.retried.contains($0.number)) }
    }
}
