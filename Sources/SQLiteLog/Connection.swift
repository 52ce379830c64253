// The one place that talks to SQLite: a connection, its statements, and what its errors mean to us.
import CSQLite
import EventLog

/// An open database file. One thread uses it at a time; its owner says which.
///
/// Unchecked: SQLite is told not to lock (`NOMUTEX`), so the owner must keep threads apart.
@safe
final class Connection: @unchecked Sendable {
    /// How long a statement waits for another process that writes.
    static let busyMilliseconds: Int32 = 5_000

    let path: String
    fileprivate let handle: OpaquePointer
    private var statements: [Statement] = []
    /// Where SQLite's commit hook leaves the length of the write-ahead log.
    private let pages: UnsafeMutablePointer<Int32>

    /// Opens a file, which is created when it is not there and may be.
    init(path: String, isCreating: Bool) throws(LogFault) {
        self.path = path
        var opened: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (isCreating ? SQLITE_OPEN_CREATE : 0)
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let reason = unsafe opened.map { unsafe Connection.message(of: $0) } ?? "out of memory"
            unsafe sqlite3_close(opened)
            throw LogFault.sqlite("open", path: path, code: code, reason: reason)
        }
        unsafe handle = opened
        unsafe sqlite3_extended_result_codes(opened, 1)
        unsafe sqlite3_busy_timeout(opened, Connection.busyMilliseconds)
        unsafe pages = .allocate(capacity: 1)
        unsafe pages.initialize(to: 0)
        // In place of SQLite's own checkpoints. The pointer is freed after the handle is closed.
        unsafe sqlite3_wal_hook(
            opened,
            { context, _, _, count in
                unsafe context?.storeBytes(of: count, as: Int32.self)
                return SQLITE_OK
            }, pages)
    }

    /// How many pages the write-ahead log had after this connection's last commit.
    var writeAheadPages: Int { unsafe Int(pages.pointee) }

    /// Finalises all statements and closes the file; no call may follow.
    func close() {
        for statement in statements { statement.finalise() }
        statements = []
        let code = unsafe sqlite3_close(handle)
        precondition(code == SQLITE_OK, "a statement outlived its connection")
        unsafe pages.deallocate()
    }

    /// A statement that lives as long as the connection.
    func prepare(_ sql: String) throws(LogFault) -> Statement {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared = unsafe prepared else {
            throw fault("prepare", code: code)
        }
        let statement = unsafe Statement(self, prepared)
        statements.append(statement)
        return statement
    }

    /// Runs statements that return nothing, once.
    func run(_ sql: String) throws(LogFault) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault("write", code: code) }
    }

    /// The number that a statement run once returns.
    func number(_ sql: String) throws(LogFault) -> Int64 {
        let statement = try prepare(sql)
        defer {
            statements.removeLast()
            statement.finalise()
        }
        guard try statement.step() else {
            throw LogFault("read", at: path, reason: "no answer to \(sql)", remedy: .stop)
        }
        return statement.number(0)
    }

    /// Whether a transaction is open: some errors end it, others do not.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Whether the file has been moved or deleted since it was opened. What is written then would
    /// be found by nobody.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let code = unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return code == SQLITE_OK && moved != 0
    }

    /// Moves the write-ahead log into the file as far as readers allow.
    func checkpoint() throws(LogFault) {
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else {
            throw fault("checkpoint", code: code)
        }
    }

    /// Moves all of the write-ahead log into the file and empties it; waits so long for readers,
    /// and returns whether they let it.
    func emptyWriteAhead(waitMilliseconds: Int32) throws(LogFault) -> Bool {
        unsafe sqlite3_busy_timeout(handle, waitMilliseconds)
        defer { unsafe sqlite3_busy_timeout(handle, Connection.busyMilliseconds) }
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        if code & 0xff == SQLITE_BUSY { return false }
        guard code == SQLITE_OK else { throw fault("checkpoint", code: code) }
        unsafe pages.pointee = 0
        return true
    }

    func fault(_ operation: String, code: Int32) -> LogFault {
        let reason = unsafe Connection.message(of: handle)
        return LogFault.sqlite(operation, path: path, code: code, reason: reason)
    }

    private static func message(of handle: OpaquePointer) -> String {
        unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "unknown error"
    }
}

/// A prepared statement. Belongs to its connection, which finalises it.
@safe
final class Statement {
    private unowned let connection: Connection
    private let handle: OpaquePointer

    fileprivate init(_ connection: Connection, _ handle: OpaquePointer) {
        self.connection = connection
        unsafe self.handle = handle
    }

    /// Binds numbers to the first parameters.
    func bind(_ numbers: Int64...) {
        for (index, number) in numbers.enumerated() { bind(number, at: Int32(index + 1)) }
    }

    func bind(_ number: Int64, at index: Int32) {
        let code = unsafe sqlite3_bind_int64(handle, index, number)
        precondition(code == SQLITE_OK, "the statement has parameter \(index), and is reset")
    }

    /// Runs the body with the bytes bound; they are lent to SQLite for that time only.
    func withBound<Result>(
        _ bytes: [UInt8]?, at index: Int32, _ body: () throws(LogFault) -> Result
    ) throws(LogFault) -> Result {
        guard let bytes else {
            unsafe sqlite3_bind_null(handle, index)
            return try body()
        }
        let result = unsafe bytes.withUnsafeBytes { buffer -> Swift.Result<Result, LogFault> in
            // A pointer to nothing would be bound as NULL, which is not the same as no bytes.
            let code =
                unsafe buffer.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : sqlite3_bind_blob(
                    handle, index, buffer.baseAddress, Int32(buffer.count), nil)
            precondition(code == SQLITE_OK, "the statement has parameter \(index), and is reset")
            let result = Swift.Result { () throws(LogFault) in try body() }
            // The lent bytes must not be in use when they go away.
            unsafe sqlite3_reset(handle)
            unsafe sqlite3_bind_null(handle, index)
            return result
        }
        return try result.get()
    }

    /// Goes to the next row; false when there is none, and then the statement is reset.
    func step() throws(LogFault) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        let fault = code == SQLITE_DONE ? nil : connection.fault("read or write", code: code)
        reset()
        if let fault { throw fault }
        return false
    }

    /// Runs a statement that returns no rows.
    func run() throws(LogFault) {
        let hasRow = try step()
        precondition(!hasRow, "a statement that is run returns no rows")
    }

    /// The first column of the only row, nil when there is none.
    func firstNumber() throws(LogFault) -> Int64? {
        guard try step() else { return nil }
        defer { reset() }
        return number(0)
    }

    func reset() {
        unsafe sqlite3_reset(handle)
    }

    func number(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    func text(_ column: Int32) -> String {
        unsafe sqlite3_column_text(handle, column).map { unsafe String(cString: $0) } ?? ""
    }

    /// The bytes of a column, nil for NULL; valid until the next step or reset.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer? {
        guard unsafe sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
        let start = unsafe sqlite3_column_blob(handle, column)
        return unsafe UnsafeRawBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    fileprivate func finalise() {
        unsafe sqlite3_finalize(handle)
    }
}

extension LogFault {
    /// What an error of SQLite means: whether the file comes back by itself, and what to do.
    static func sqlite(_ operation: String, path: String, code: Int32, reason: String) -> LogFault {
        let (hint, remedy): (String?, Remedy) =
            switch code & 0xff {
            case SQLITE_FULL:
                (
                    "free space on the file system of the log; what was accepted is safe, and the "
                        + "log goes on by itself", .retry
                )
            case SQLITE_BUSY, SQLITE_LOCKED:
                ("another process is holding the log; it is tried again", .retry)
            case SQLITE_IOERR:
                ("look at the disk and the system's messages; it is tried again", .retry)
            case SQLITE_NOMEM:
                ("the machine is out of memory; it is tried again", .retry)
            case SQLITE_CORRUPT, SQLITE_NOTADB:
                (
                    "the file is damaged or not a log: restore it from a backup, or move it away to "
                        + "begin anew", .stop
                )
            case SQLITE_CANTOPEN:
                ("check that the directory exists and that this user may write to it", .stop)
            case SQLITE_ERROR:
                (
                    "the file is damaged or was changed by something else: restore it from a backup",
                    .stop
                )
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
                ("let this user write to the file and its directory", .stop)
            default:
                (nil, .stop)
            }
        return LogFault(
            operation, at: "sqlite:\(path)", reason: "\(reason) (SQLite \(code))", hint: hint,
            remedy: remedy)
    }
}
