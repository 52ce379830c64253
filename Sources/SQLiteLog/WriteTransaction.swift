// What happens inside one transaction: records get their offsets, tables their newest rows, epochs
// their fence check. Statements are prepared once and shared by all transactions of a writer.
import EventLog

/// The statements of the connection that writes.
final class WriteStatements {
    let begin: Statement
    let commit: Statement
    let rollback: Statement
    let readLog: Statement
    let updateLog: Statement
    let readSlot: Statement
    let updateSlot: Statement
    let insertRecord: Statement
    let readNewest: Statement
    let updateNewest: Statement
    let insertGarbage: Statement
    let updatePosition: Statement
    let readHolder: Statement
    let updateHolder: Statement

    init(_ connection: Connection) throws(LogFault) {
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        rollback = try connection.prepare("ROLLBACK")
        readLog = try connection.prepare("SELECT generation, owner, latest FROM log")
        updateLog = try connection.prepare(
            "UPDATE log SET generation = ?1, owner = ?2, latest = ?3")
        readSlot = try connection.prepare("SELECT low, next FROM slot WHERE slot = ?1")
        updateSlot = try connection.prepare(
            "UPDATE slot SET low = ?2, next = ?3 WHERE slot = ?1")
        insertRecord = try connection.prepare("INSERT INTO record VALUES (?1, ?2, ?3, ?4)")
        readNewest = try connection.prepare(
            "SELECT row FROM newest WHERE slot = ?1 AND key = ?2")
        updateNewest = try connection.prepare("REPLACE INTO newest VALUES (?1, ?2, ?3)")
        insertGarbage = try connection.prepare("INSERT OR IGNORE INTO garbage VALUES (?1, ?2)")
        updatePosition = try connection.prepare("REPLACE INTO position VALUES (?1, ?2)")
        readHolder = try connection.prepare("SELECT holder FROM appender WHERE name = ?1")
        updateHolder = try connection.prepare("REPLACE INTO appender VALUES (?1, ?2)")
    }
}

/// One write transaction, from its begin to its commit.
struct WriteTransaction {
    private struct Slot {
        var low: Int64
        var next: Int64
        var isChanged = false
    }

    let append: Int64
    private(set) var generation: Int64
    private(set) var owner: Int64
    private let layout: Layout
    private let statements: WriteStatements
    private var slots: [Int64: Slot] = [:]
    private var isChanged = false

    /// Begins one. `time` is asked for the append time once nobody else can write.
    static func begin(
        _ statements: WriteStatements, _ layout: Layout, time: () -> Int64
    ) throws(LogFault) -> WriteTransaction {
        try statements.begin.run()
        guard try statements.readLog.step() else {
            throw LogFault(
                "write", at: "sqlite", reason: "the log's own row is missing",
                hint: "the file is damaged: restore it from a backup", remedy: .stop)
        }
        defer { statements.readLog.reset() }
        return WriteTransaction(
            append: max(time(), statements.readLog.number(2)),
            generation: statements.readLog.number(0), owner: statements.readLog.number(1),
            layout: layout, statements: statements)
    }

    private init(
        append: Int64, generation: Int64, owner: Int64, layout: Layout, statements: WriteStatements
    ) {
        self.append = append
        self.generation = generation
        self.owner = owner
        self.layout = layout
        self.statements = statements
    }

    mutating func append(_ record: OutgoingRecord) throws(LogFault) {
        let number = layout.slot(of: record.place)
        var slot = try slot(number)
        precondition(slot.next < Layout.offsetMax, "a partition has at most 2^47 records")
        let row = Layout.row(slot: number, offset: slot.next)
        let insert = statements.insertRecord
        insert.bind(row, append)
        try insert.withBound(record.key, at: 3) { () throws(LogFault) in
            try insert.withBound(record.value, at: 4) { () throws(LogFault) in try insert.run() }
        }
        if case .table = record.topic.kind { try noteNewest(record, slot: number, row: row) }
        slot.next += 1
        slot.isChanged = true
        slots[number] = slot
        isChanged = true
    }

    /// Appends the outputs of an epoch and moves the positions of its inputs.
    mutating func commit(
        _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) throws(LogFault) -> [TopicPartition: Int64] {
        var ends: [TopicPartition: Int64] = [:]
        for record in outputs {
            try append(record)
            ends[record.place] = slots[layout.slot(of: record.place)]?.next
        }
        for (place, position) in positions {
            statements.updatePosition.bind(layout.slot(of: place), position)
            try statements.updatePosition.run()
        }
        return ends
    }

    /// Begins a new assignment, and a new set of workers unless the owner is given.
    mutating func takeOver(owner: Int64?) {
        generation += 1
        self.owner = owner ?? generation
        isChanged = true
    }

    /// The number of a name's holder, 0 before the first.
    func holder(of name: [UInt8]) throws(LogFault) -> Int64 {
        let read = statements.readHolder
        return try read.withBound(name, at: 1) { () throws(LogFault) in
            try read.firstNumber() ?? 0
        }
    }

    /// Gives a name to a new holder, and returns that one's number.
    func takeName(_ name: [UInt8]) throws(LogFault) -> Int64 {
        let holder = try holder(of: name) + 1
        let update = statements.updateHolder
        update.bind(holder, at: 2)
        try update.withBound(name, at: 1) { () throws(LogFault) in try update.run() }
        return holder
    }

    /// The first offset still there.
    func low(slot number: Int64) throws(LogFault) -> Int64 {
        try slot(number).low
    }

    /// Says that the first records of a partition are gone.
    mutating func raiseLow(slot number: Int64, to low: Int64) throws(LogFault) {
        var slot = try slot(number)
        slot.low = low
        slot.isChanged = true
        slots[number] = slot
    }

    /// Writes what was gathered, and commits.
    func commit() throws(LogFault) {
        for (number, slot) in slots where slot.isChanged {
            statements.updateSlot.bind(number, slot.low, slot.next)
            try statements.updateSlot.run()
        }
        if isChanged {
            statements.updateLog.bind(generation, owner, append)
            try statements.updateLog.run()
        }
        try statements.commit.run()
    }

    private func slot(_ number: Int64) throws(LogFault) -> Slot {
        if let slot = slots[number] { return slot }
        statements.readSlot.bind(number)
        guard try statements.readSlot.step() else {
            throw LogFault(
                "write", at: "sqlite", reason: "partition \(number) is missing in its table",
                hint: "the file is damaged: restore it from a backup", remedy: .stop)
        }
        defer { statements.readSlot.reset() }
        return Slot(low: statements.readSlot.number(0), next: statements.readSlot.number(1))
    }

    /// Marks the record as the newest of its key, and says when what it makes needless may go.
    private func noteNewest(
        _ record: OutgoingRecord, slot: Int64, row: Int64
    ) throws(LogFault) {
        let (read, update) = (statements.readNewest, statements.updateNewest)
        read.bind(slot)
        let older = try read.withBound(record.key, at: 2) { () throws(LogFault) in
            try read.firstNumber()
        }
        if let older {
            try noteGarbage(row: older, after: TableRetention.supersededMilliseconds)
        }
        if record.value == nil {
            try noteGarbage(row: row, after: TableRetention.tombstoneMilliseconds)
        }
        update.bind(slot, at: 1)
        update.bind(row, at: 3)
        try update.withBound(record.key, at: 2) { () throws(LogFault) in try update.run() }
    }

    private func noteGarbage(row: Int64, after milliseconds: Int64) throws(LogFault) {
        statements.insertGarbage.bind(append + milliseconds, row)
        try statements.insertGarbage.run()
    }
}
