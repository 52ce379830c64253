// Keeps SQLite's write-ahead log short: it is moved into the file as it grows, and when readers
// keep that from being emptied, waited for, and at last writing is refused.
import EventLog

/// When to move the write-ahead log into the file. Used by the writing thread only.
final class WriteAhead {
    /// Moved after so many pages: 8 MB.
    static let pagesUsual = 1_024
    /// From here on readers are waited for, so that it can be emptied: 64 MB.
    static let pagesLong = 8 * pagesUsual
    /// The most it may ever have: 1 GB.
    static let pagesMaxDefault = 128 * pagesUsual
    /// How long writers wait for readers then; readers of ours need milliseconds.
    static let waitMilliseconds: Int32 = 200

    private let pagesMax: Int
    private var nextAt = WriteAhead.pagesUsual

    init(pagesMax: Int = WriteAhead.pagesMaxDefault) {
        self.pagesMax = pagesMax
    }

    /// Called after each commit.
    func checkpoint(_ connection: Connection) throws(LogFault) {
        let pages = connection.writeAheadPages
        if pages < WriteAhead.pagesUsual { nextAt = WriteAhead.pagesUsual }
        guard pages >= nextAt else { return }
        nextAt = pages + WriteAhead.pagesUsual
        do throws(LogFault) {
            if pages < WriteAhead.pagesLong {
                try connection.checkpoint()
            } else {
                _ = try connection.emptyWriteAhead(waitMilliseconds: WriteAhead.waitMilliseconds)
            }
        } catch  where error.remedy == .retry {
            // The commit before it has succeeded: what is not moved now is moved later.
            return
        }
    }

    /// Called before each transaction: refuses when nothing more may be added.
    func makeRoom(_ connection: Connection) throws(LogFault) {
        guard connection.writeAheadPages >= pagesMax else { return }
        guard try !connection.emptyWriteAhead(waitMilliseconds: WriteAhead.waitMilliseconds) else {
            return
        }
        throw LogFault(
            "append", at: "sqlite:\(connection.path)",
            reason: "the write-ahead log has its most, \(pagesMax) pages",
            hint: "another process reads the file in one long transaction: end it",
            remedy: .retry)
    }
}
