// Appends of several records at once, by one who must be alone: whoever takes his name takes his
// place.

/// Appends records, all of them or none, as the only holder of its name in the whole log. One
/// thread owns it.
///
/// What is remembered beside the records themselves (as which dead letters have been retried) is
/// appended with them, and read back by whoever comes next: after a fault, or another process's
/// crash, a new appender of the same name and a reader made after it see what took effect.
package protocol ExclusiveAppender: AnyObject {
    /// Appends all records and returns once the log has them.
    ///
    /// Faults: `fenced` when another holder has the name by now, and nothing was appended. After
    /// `retry` it is not known whether they were appended: only a new appender can tell.
    func append(_ records: [OutgoingRecord]) throws(LogFault)

    /// Releases what it holds; no other call may follow.
    func close()
}
