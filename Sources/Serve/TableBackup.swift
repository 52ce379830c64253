// The table as a file, for a start while the log is away: a head, a line an app, and a checksum.

import BrakeModel
import BrakeWire
import EventLog

/// What is kept of a table.
struct TableBackup {
    /// The version of the format that we write and read.
    static let version: Int64 = 1

    var shards: [TableShard]
    var caps: CapTable
    /// Where the table had been read up to.
    var position: StreamPosition

    /// The table of a file's bytes; throws what is wrong with them.
    init(bytes: [UInt8], partitions: Int) throws(BackupFault) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // Every line has an end, so the last piece is empty unless the file is cut off.
        guard lines.popLast()?.isEmpty == true else { throw .damaged("it is cut off") }
        try self.init(lines: lines, partitions: partitions)
    }

    /// The lines of the file, each without its end. O(apps).
    func writeLines(_ write: ([UInt8]) throws(BackupFault) -> Void) throws(BackupFault) {
        var checksum: UInt64 = 0
        try write(head.adding(to: &checksum))
        for (partition, shard) in shards.enumerated() {
            for entry in shard.entries {
                let record = ThrottleRecord(
                    change: entry.change, partition: partition, epoch: entry.epoch)
                try write(record.encode().adding(to: &checksum))
            }
        }
        for (partition, shard) in shards.enumerated() {
            for (_, index) in shard.stress.sorted(by: { $0.key < $1.key }) {
                let record = StressRecord(
                    index: index, partition: partition, epoch: shard.epoch?.number ?? 0)
                try write(record.encode().adding(to: &checksum))
            }
        }
        try write(
            JSONWriter.bytes { line in
                line.object { $0.field("checksum", String(checksum, radix: 16)) }
            })
    }

    private var head: [UInt8] {
        JSONWriter.bytes { head in
            head.object { head in
                head.field("v", Self.version)
                head.field("apps", shards.reduce(0) { $0 + $1.entries.count })
                head.field("stress", shards.reduce(0) { $0 + $1.stress.count })
                head.field("position", position.text)
                head.array("caps") { $0.write(caps) }
                head.array("shards") { list in
                    for shard in shards {
                        list.object { item in
                            item.field("n", shard.epoch?.number ?? 0)
                            item.field("generation", shard.epoch?.generation ?? 0)
                            // 0: no epoch was heard of.
                            item.field("epoch_append", shard.epoch?.append ?? 0)
                            item.field("newest_append", shard.newestAppend ?? 0)
                        }
                    }
                }
            }
        }
    }

    private init(lines: [ArraySlice<UInt8>], partitions: Int) throws(BackupFault) {
        let reader = DocumentReader()
        guard lines.count >= 2, let head = reader.read(Array(lines[0])),
            let last = reader.read(Array(lines[lines.count - 1]))
        else { throw .damaged("it is cut off") }
        guard head["v"]?.integer == Self.version else {
            throw .damaged("its version is unknown")
        }
        var checksum: UInt64 = 0
        for line in lines.dropLast() { _ = Array(line).adding(to: &checksum) }
        guard last["checksum"]?.text == String(checksum, radix: 16) else {
            throw .damaged("its checksum does not fit")
        }
        guard let position = head["position"]?.text.flatMap({ StreamPosition($0) }),
            let marks = head["shards"]?.array, marks.count == partitions,
            position.offsets.count == partitions
        else { throw .damaged("it is of a log with another number of partitions") }
        self.position = position
        shards = marks.map(TableShard.init)
        caps = try CapTable(head["caps"])
        let records = lines.dropFirst().dropLast()
        // A file from before there were any has none.
        let stressed = head["stress"]?.integer ?? 0
        guard (0...Int64(records.count)).contains(stressed) else {
            throw .damaged("it counts more records than it has")
        }
        try addApps(records.dropLast(Int(stressed)), reader)
        try addStress(records.suffix(Int(stressed)), reader)
    }

    init(shards: [TableShard], caps: CapTable, position: StreamPosition) {
        self.shards = shards
        self.caps = caps
        self.position = position
    }

    private mutating func addApps(
        _ lines: ArraySlice<ArraySlice<UInt8>>, _ reader: DocumentReader
    ) throws(BackupFault) {
        var entries = [[AppID: AppEntry?]](repeating: [:], count: shards.count)
        for line in lines {
            let record = unsafe try Self.read(line, "a record") { bytes throws(Rejection) in
                unsafe try ThrottleRecord.decode(bytes, with: reader)
            }
            let app = record.change.app
            entries[home(of: app)][app] = AppEntry(record.change, epoch: record.epoch)
        }
        for partition in shards.indices { shards[partition].merge(entries[partition]) }
    }
}

extension TableBackup {
    fileprivate mutating func addStress(
        _ lines: ArraySlice<ArraySlice<UInt8>>, _ reader: DocumentReader
    ) throws(BackupFault) {
        for line in lines {
            let record = unsafe try Self.read(line, "a record of stress") {
                bytes throws(Rejection) in
                unsafe try StressRecord.decode(bytes, with: reader)
            }
            let app = record.index.app
            shards[home(of: app)].stress[app] = record.index
        }
    }

    private func home(of app: AppID) -> Int {
        Partitioner.partition(of: app.text.utf8, partitions: shards.count)
    }

    /// What a line holds; `name` says in the fault what it should have been.
    private static func read<Record>(
        _ line: ArraySlice<UInt8>, _ name: String,
        _ decode: (UnsafeRawBufferPointer) throws(Rejection) -> Record
    ) throws(BackupFault) -> Record {
        // The library's own closure-taking call has no typed error.
        let read = unsafe line.withUnsafeBytes { bytes in
            Result { () throws(Rejection) in unsafe try decode(bytes) }
        }
        switch read {
        case .success(let record): return record
        case .failure(let rejection):
            throw .damaged("\(name) in it is bad: \(rejection.rawValue)")
        }
    }
}

extension JSONWriter {
    /// In order of place: the same table gives the same bytes.
    fileprivate mutating func write(_ caps: CapTable) {
        for (place, caps) in caps.places.sorted(by: { $0.key < $1.key }) {
            object { item in
                item.field("app", place.app?.text)
                item.field("country", place.country?.text)
                item.field("per_hour", caps.perHour)
                item.field("per_day", caps.perDay)
            }
        }
    }
}

extension CapTable {
    /// Of the backup's head. One from before there were caps in it has none.
    fileprivate init(_ list: JSONValue?) throws(BackupFault) {
        self.init()
        for item in list?.array ?? [] {
            let app = item["app"]?.text
            let country = item["country"]?.text
            guard let perHour = item["per_hour"]?.integer.flatMap({ Int(exactly: $0) }),
                let perDay = item["per_day"]?.integer.flatMap({ Int(exactly: $0) }),
                app == nil || app.flatMap({ AppID($0) }) != nil,
                country == nil || country.flatMap({ CountryCode($0) }) != nil
            else { throw .damaged("caps in it are bad") }
            let place = CapPlace(
                app: app.flatMap { AppID($0) }, country: country.flatMap { CountryCode($0) })
            places[place] = FrequencyCaps(perHour: perHour, perDay: perDay)
        }
    }
}

extension TableShard {
    /// Without apps, from a line of the backup's head.
    fileprivate init(_ mark: JSONValue) {
        if let number = mark["n"]?.integer, let generation = mark["generation"]?.integer,
            let append = mark["epoch_append"]?.integer, append > 0
        {
            epoch = EpochMark(number: number, generation: generation, append: append)
        }
        if let append = mark["newest_append"]?.integer, append > 0 { newestAppend = append }
    }
}

extension [UInt8] {
    /// The same bytes, counted in the checksum.
    fileprivate func adding(to checksum: inout UInt64) -> [UInt8] {
        let hash = unsafe withUnsafeBytes { unsafe StableHash.of($0) }
        checksum = StableHash.combine(checksum, hash)
        return self
    }
}

/// A file of states that could not be written or read.
package struct BackupFault: Error, CustomStringConvertible {
    var operation: String
    var place = ""
    var reason: String
    var hint: String

    package var description: String { "\(operation) (\(place)): \(reason). Hint: \(hint)" }

    static func damaged(_ reason: String) -> BackupFault {
        BackupFault(
            operation: "read the backup", reason: reason,
            hint: "it is written anew once the log has been read")
    }
}
