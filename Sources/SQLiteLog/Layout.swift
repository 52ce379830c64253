// How the log lies in its file: the schema, its version, and how it is made and checked.
import EventLog

/// The tables, and where a record is in them.
///
/// A record's row id is topic, partition and offset in one number, so that one B-tree without any
/// index serves both appending and reading forward.
struct Layout: Sendable {
    /// `AdBr`, in the header of the file.
    static let applicationID: Int64 = 0x4164_4272
    static let version: Int64 = 1
    static let partitionsDefault = 16
    static let partitionsMax = 1 << partitionBits
    static let topicsMax = 1 << (63 - partitionBits - offsetBits)
    static let offsetMax: Int64 = 1 << offsetBits
    /// Larger than usual: most bytes are in values of many kB, which cost by the page.
    static let pageBytes = 8_192

    private static let partitionBits = 10
    /// At a million records a second in one partition, four years.
    private static let offsetBits = 47

    let partitions: Int
    private let numbers: [Topic: Int64]

    /// A partition of a topic as a number.
    func slot(of place: TopicPartition) -> Int64 {
        guard let number = numbers[place.topic] else {
            preconditionFailure("\(place.topic.name) is one of the topics that every log has")
        }
        return number << Layout.partitionBits | Int64(place.partition)
    }

    /// The row id of the record with this offset.
    static func row(slot: Int64, offset: Int64) -> Int64 { slot << offsetBits | offset }

    static func offset(ofRow row: Int64) -> Int64 { row & (offsetMax - 1) }

    static func slot(ofRow row: Int64) -> Int64 { row >> offsetBits }

    /// Makes the tables in a new file, or checks those of an old one.
    static func open(_ connection: Connection, partitions: Int?) throws(LogFault) -> Layout {
        try checkOwnership(connection)
        // Before the first table, and not within a transaction.
        try connection.run("PRAGMA page_size = \(pageBytes); PRAGMA journal_mode = WAL")
        try connection.run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
        do throws(LogFault) {
            if try connection.number("PRAGMA user_version") == 0 {
                try create(connection, partitions: partitions ?? partitionsDefault)
            }
            let layout = try read(connection, partitions: partitions)
            // Older builds neither made this table nor mind it.
            try connection.run(
                """
                CREATE TABLE IF NOT EXISTS appender (
                    name BLOB PRIMARY KEY, holder INTEGER NOT NULL) WITHOUT ROWID
                """)
            try connection.run("COMMIT")
            return layout
        } catch {
            if connection.isInTransaction { try connection.run("ROLLBACK") }
            throw error
        }
    }

    /// Refuses what is not ours before anything is changed in it.
    private static func checkOwnership(_ connection: Connection) throws(LogFault) {
        let application = try connection.number("PRAGMA application_id")
        let version = try connection.number("PRAGMA user_version")
        let tables = try connection.number("SELECT count(*) FROM sqlite_schema")
        if application != applicationID, tables > 0 || application != 0 || version != 0 {
            throw LogFault(
                "open", at: "sqlite:\(connection.path)",
                reason: "the file is an SQLite database, but not an AdBrake log",
                hint: "name another file", remedy: .stop)
        }
        if version > Layout.version {
            throw LogFault(
                "open", at: "sqlite:\(connection.path)",
                reason: "the log has version \(version), this build knows up to \(Layout.version)",
                hint: "use the newer adbrake that made it, or another file", remedy: .stop)
        }
    }

    private static func create(_ connection: Connection, partitions: Int) throws(LogFault) {
        try connection.run(
            """
            PRAGMA application_id = \(applicationID);
            PRAGMA user_version = \(version);
            -- generation: rises with every assignment; owner: the generation of the set of workers
            -- that may commit; latest: the last append time.
            CREATE TABLE log (
                partitions INTEGER NOT NULL, generation INTEGER NOT NULL, owner INTEGER NOT NULL,
                latest INTEGER NOT NULL);
            INSERT INTO log VALUES (\(partitions), 0, 0, 0);
            CREATE TABLE topic (
                number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
                partitions INTEGER NOT NULL);
            -- A partition of a topic: the first offset still there, and the next.
            CREATE TABLE slot (
                slot INTEGER PRIMARY KEY, low INTEGER NOT NULL, next INTEGER NOT NULL);
            CREATE TABLE record (
                row INTEGER PRIMARY KEY, append INTEGER NOT NULL, key BLOB, value BLOB);
            -- The last record of each key of a table.
            CREATE TABLE newest (
                slot INTEGER NOT NULL, key BLOB NOT NULL, row INTEGER NOT NULL,
                PRIMARY KEY (slot, key)) WITHOUT ROWID;
            -- Records of tables that are no longer needed, and when they may go.
            CREATE TABLE garbage (
                due INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (due, row)) WITHOUT ROWID;
            -- Committed input positions.
            CREATE TABLE position (slot INTEGER PRIMARY KEY, next INTEGER NOT NULL);
            """)
    }

    private static func read(_ connection: Connection, partitions: Int?) throws(LogFault) -> Layout
    {
        let stored = Int(try connection.number("SELECT partitions FROM log"))
        if let partitions, partitions != stored {
            throw LogFault(
                "open", at: "sqlite:\(connection.path)",
                reason: "the log has \(stored) partitions, not \(partitions)",
                hint: "the number is fixed for the life of a log; ask for \(stored)",
                remedy: .stop)
        }
        var numbers: [Topic: Int64] = [:]
        for topic in Topic.all {
            numbers[topic] = try number(of: topic, connection, partitions: stored)
        }
        return Layout(partitions: stored, numbers: numbers)
    }

    /// The topic's number; one that an older build did not know is added.
    private static func number(
        of topic: Topic, _ connection: Connection, partitions: Int
    ) throws(LogFault) -> Int64 {
        let kind = if case .table = topic.kind { "table" } else { "stream" }
        let count = topic.isPartitioned ? partitions : 1
        let clause = "FROM topic WHERE name = '\(topic.name)'"
        if try connection.number("SELECT count(*) \(clause)") == 0 {
            try connection.run(
                """
                INSERT INTO topic (name, kind, partitions)
                VALUES ('\(topic.name)', '\(kind)', \(count));
                """)
        }
        let same = "kind = '\(kind)' AND partitions = \(count)"
        if try connection.number("SELECT \(same) \(clause)") == 0 {
            throw LogFault(
                "open", at: "sqlite:\(connection.path)",
                reason: "the topic \(topic.name) is not a \(kind) of \(count) partitions there",
                hint: "the file was made by another version of adbrake", remedy: .stop)
        }
        let number = try connection.number("SELECT number \(clause)")
        guard (1..<Int64(topicsMax)).contains(number) else {
            throw LogFault(
                "open", at: "sqlite:\(connection.path)",
                reason: "the topic \(topic.name) has the number \(number)",
                hint: "the file is damaged", remedy: .stop)
        }
        let first = number << partitionBits
        for slot in first..<(first + Int64(count)) {
            try connection.run("INSERT OR IGNORE INTO slot VALUES (\(slot), 0, 0)")
        }
        return number
    }
}
