// The record of an epoch: what a partition had read and decided when it committed. A replay follows
// it, a restore starts from it, and edges take it as the evaluator's heartbeat.

package import BrakeModel

package struct EpochRecord: Sendable, Equatable {
    /// The version of the format that we write and read.
    package static let version: Int64 = 1
    /// The most snapshots that it points to, newest first.
    package static let snapshotsMax = 3

    /// The offsets after the last record read.
    package struct Offsets: Sendable, Equatable {
        package var session: Int64 = 0
        package var crash: Int64 = 0
        package var softError: Int64 = 0
        package var adEvent: Int64 = 0
        package var control: Int64 = 0

        package init() {}

        /// The offset of an input.
        package subscript(type: EventType) -> Int64 {
            get {
                switch type {
                case .session: session
                case .crash: crash
                case .softError: softError
                case .adEvent: adEvent
                }
            }
            set {
                switch type {
                case .session: session = newValue
                case .crash: crash = newValue
                case .softError: softError = newValue
                case .adEvent: adEvent = newValue
                }
            }
        }
    }

    /// A policy in force.
    package struct PolicyVersion: Sendable, Equatable {
        package var name: String
        package var version: Int

        package init(name: String, version: Int) {
            self.name = name
            self.version = version
        }
    }

    /// Where an image of the state begins in the snapshot topic.
    package struct SnapshotPointer: Sendable, Equatable {
        package var epoch: Int64
        package var offset: Int64
        package var chunks: Int
        package var bytes: Int

        package init(epoch: Int64, offset: Int64, chunks: Int, bytes: Int) {
            self.epoch = epoch
            self.offset = offset
            self.chunks = chunks
            self.bytes = bytes
        }
    }

    /// Rises by one with each epoch of the partition.
    package var number: Int64
    /// Of the member that committed it.
    package var generation: Int64
    package var partition: Int
    /// C, ms since 1970.
    package var clock: Int64
    package var offsets: Offsets
    package var policies: [PolicyVersion]
    /// The most apps that the partition could know; nil in records older than this field.
    package var appsMax: Int?
    /// How many throttle records it published.
    package var changes: Int
    /// How often it tightened or eased the caps of an app.
    package var tightenings: Int
    /// Of the state, rolling.
    package var checksum: UInt64
    /// The ids that are in the checksum; of all events in records older than this field.
    package var checksumIDs: HashedIDs
    package var snapshots: [SnapshotPointer]
    /// The offset after the last throttle record of the partition.
    package var throttleEnd: Int64

    package init(
        number: Int64, generation: Int64, partition: Int, clock: Int64, offsets: Offsets,
        policies: [PolicyVersion], appsMax: Int? = nil, changes: Int,
        tightenings: Int = 0, checksum: UInt64, checksumIDs: HashedIDs = .counted,
        snapshots: [SnapshotPointer], throttleEnd: Int64
    ) {
        self.number = number
        self.generation = generation
        self.partition = partition
        self.clock = clock
        self.offsets = offsets
        self.policies = policies
        self.appsMax = appsMax
        self.changes = changes
        self.tightenings = tightenings
        self.checksum = checksum
        self.checksumIDs = checksumIDs
        self.snapshots = snapshots
        self.throttleEnd = throttleEnd
    }
}

extension EpochRecord {
    package func encode() -> [UInt8] {
        precondition(snapshots.count <= EpochRecord.snapshotsMax, "older snapshots are dropped")
        return JSONWriter.bytes { record in
            record.object { record in
                record.field("v", EpochRecord.version)
                record.field("n", number)
                record.field("generation", generation)
                record.field("partition", partition)
                record.field("clock", clock)
                record.object("offsets") { list in
                    for type in EventType.allCases {
                        list.field(foreign: type.name, offsets[type])
                    }
                    list.field("control", offsets.control)
                }
                record.array("policies") { $0.write(policies) }
                if let appsMax { record.field("apps_max", appsMax) }
                record.field("changes", changes)
                if tightenings > 0 { record.field("tightenings", tightenings) }
                record.field("checksum", Hex.text(checksum))
                if checksumIDs != .all { record.field("checksum_ids", checksumIDs.rawValue) }
                record.array("snapshots") { $0.write(snapshots) }
                record.field("throttle_end", throttleEnd)
            }
        }
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(Rejection) -> EpochRecord {
        let record = unsafe try reader.record(bytes, version: version)
        let snapshots = try record.required("snapshots", \.array)
        guard snapshots.count <= snapshotsMax else { throw .badField }
        return EpochRecord(
            number: try record.required("n", \.integer),
            generation: try record.required("generation", \.integer),
            partition: try record.required("partition", \.count),
            clock: try record.required("clock", \.integer),
            offsets: try Offsets(record["offsets"] ?? .null),
            policies: try record.required("policies", \.array).mapRejecting(PolicyVersion.init),
            appsMax: record["apps_max"]?.count,
            changes: try record.required("changes", \.count),
            tightenings: record["tightenings"]?.count ?? 0,
            checksum: try record.required("checksum") { $0.text.flatMap { UInt64($0, radix: 16) } },
            checksumIDs: try HashedIDs(record["checksum_ids"]),
            snapshots: try snapshots.mapRejecting(SnapshotPointer.init),
            throttleEnd: try record.required("throttle_end", \.integer))
    }
}

extension HashedIDs {
    /// What this build does not know it cannot compare.
    fileprivate init(_ value: JSONValue?) throws(Rejection) {
        guard let value else {
            self = .all
            return
        }
        guard let known = value.text.flatMap(HashedIDs.init(rawValue:)) else { throw .badField }
        self = known
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ policies: [EpochRecord.PolicyVersion]) {
        for policy in policies {
            object { item in
                item.field("name", policy.name)
                item.field("version", policy.version)
            }
        }
    }

    fileprivate mutating func write(_ snapshots: [EpochRecord.SnapshotPointer]) {
        for snapshot in snapshots {
            object { item in
                item.field("epoch", snapshot.epoch)
                item.field("offset", snapshot.offset)
                item.field("chunks", snapshot.chunks)
                item.field("bytes", snapshot.bytes)
            }
        }
    }
}

extension EpochRecord.Offsets {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init()
        for type in EventType.allCases { self[type] = try value.required(type.name, \.integer) }
        control = try value.required("control", \.integer)
    }
}

extension EpochRecord.PolicyVersion {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init(
            name: try value.required("name", \.text),
            version: try value.required("version", \.count))
    }
}

extension EpochRecord.SnapshotPointer {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init(
            epoch: try value.required("epoch", \.integer),
            offset: try value.required("offset", \.integer),
            chunks: try value.required("chunks", \.count),
            bytes: try value.required("bytes", \.count))
    }
}
