// The file that a person gives an edge to start from: a backup, or what `GET /v1/apps` answered.

import BrakeModel
import BrakeWire

/// Reads the file, and again when it has changed. One thread at a time.
final class BootstrapFile {
    private let file: StoredFile
    private let partitions: Int
    private var seen: StoredFile.Mark?

    init(path: String, partitions: Int) {
        file = StoredFile(path)
        self.partitions = partitions
    }

    /// What is in it: states, and base caps.
    typealias Content = (shards: [TableShard], caps: CapTable)

    /// What is in it; throws when there is no such file, or anything is wrong with it.
    func load() throws(BackupFault) -> Content {
        seen = file.mark
        do throws(BackupFault) {
            guard let bytes = try file.read("read the bootstrap file") else {
                throw BackupFault(
                    operation: "", reason: "there is no such file",
                    hint: "save the answer of GET /v1/apps of an edge, or copy a backup file")
            }
            let reader = DocumentReader(bytesMax: FleetStates.bytesMax)
            // A backup is many lines of JSON, so as a whole it is none.
            if let document = reader.read(bytes) {
                let states = try FleetStates(document, partitions: partitions)
                return (states.shards, states.caps)
            }
            let backup = try TableBackup(bytes: bytes, partitions: partitions)
            return (backup.shards, backup.caps)
        } catch {
            throw BackupFault(
                operation: "read the bootstrap file", place: file.path, reason: error.reason,
                hint: error.hint)
        }
    }

    /// What is in it, when the file has changed since it was last looked at; nil when not, or when
    /// it is gone.
    func loadIfChanged() throws(BackupFault) -> Content? {
        guard let mark = file.mark, mark != seen else { return nil }
        return try load()
    }
}

/// States from the document of a fleet.
struct FleetStates {
    /// Far above what a page of the fleet takes.
    static let bytesMax = 16 << 20

    private(set) var shards: [TableShard]
    /// By app, as people of no country in particular had them.
    private(set) var caps = CapTable()

    init(_ document: JSONValue, partitions: Int) throws(BackupFault) {
        guard let apps = document["apps"]?.array, let issuedAt = document["issued_at"]?.integer,
            let counts = document["counts"]?.fields
        else { throw Self.refused("it is no document of a fleet") }
        guard document["ready"] == .bool(true) else {
            throw Self.refused("the edge that it is from was not ready")
        }
        let total = counts.reduce(Int64(0)) { $0 &+ ($1.value.integer ?? 0) }
        guard document["next"] == nil, total == apps.count else {
            throw Self.refused("it is a part of a fleet: \(apps.count) apps of \(total)")
        }
        shards = Array(repeating: TableShard(), count: partitions)
        var entries = [[AppID: AppEntry?]](repeating: [:], count: partitions)
        for (index, app) in apps.enumerated() {
            let change = try Self.change(app, index)
            guard let age = app["age_ms"]?.integer, age >= 0, age <= issuedAt else {
                throw Self.refused("app \(index + 1) of it has no age")
            }
            let home = Partitioner.partition(of: change.app.text.utf8, partitions: partitions)
            entries[home][change.app] = AppEntry(change, epoch: 0)
            try take(caps: app["caps"], of: change.app, index)
            let heardAt = shards[home].newestAppend ?? Int64.max
            shards[home].newestAppend = min(heardAt, issuedAt - age)
        }
        for partition in shards.indices { shards[partition].merge(entries[partition]) }
    }

    private mutating func take(
        caps document: JSONValue?, of app: AppID, _ index: Int
    ) throws(BackupFault) {
        guard let perHour = document?["per_hour"]?.integer.flatMap({ Int(exactly: $0) }),
            let perDay = document?["per_day"]?.integer.flatMap({ Int(exactly: $0) })
        else { throw Self.refused("app \(index + 1) of it has no caps") }
        let caps = FrequencyCaps(perHour: perHour, perDay: perDay)
        if caps != .builtIn { self.caps.places[CapPlace(app: app)] = caps }
    }

    private static func change(
        _ app: JSONValue, _ index: Int
    ) throws(BackupFault) -> ThrottleChange {
        guard app["cause"]?.text != "expired" else {
            throw refused("its states were too old when it was made")
        }
        do throws(Rejection) {
            return try ThrottleChange(app)
        } catch {
            throw refused("app \(index + 1) of it is bad: \(error.rawValue)")
        }
    }

    private static func refused(_ reason: String) -> BackupFault {
        BackupFault(
            operation: "", reason: reason,
            hint: "save the answer of GET /v1/apps without a filter, of an edge that hears its log;"
                + " of more than \(FleetQuery.limitMax) apps take a backup file")
    }
}
