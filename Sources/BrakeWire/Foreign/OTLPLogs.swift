// A request of OTLP for logs: what both of its encodings say, as far as it matters here.

/// Attributes by name: those that we know, as text.
struct OTLPAttributes {
    /// Longer texts are cut: only ids and words matter.
    static let textBytesMax = 256

    static let known: Set = [
        "adbrake.app", "android.app.state", "app.build_id", "app.crash.id", "app.installation.id",
        "device.id", "device.model.identifier", "device.model.name", "event.name", "exception.type",
        "ios.app.state", "log.record.uid", "os.name", "os.type", "service.name",
        "service.version", "session.id", "session.previous_id",
    ]

    private var values: [String: String] = [:]

    mutating func set(_ key: String, _ value: String) {
        if Self.known.contains(key) { values[key] = value }
    }

    subscript(key: String) -> String? {
        values[key].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// One log record, with the attributes of its resource.
struct OTLPRecord {
    var resource = OTLPAttributes()
    var attributes = OTLPAttributes()
    /// ns since 1970; 0: unknown.
    var time: UInt64 = 0
    var observed: UInt64 = 0
    /// 1 to 24, 17 is an error, 21 fatal; 0: unknown.
    var severity: UInt64 = 0
    var eventName = ""

    /// Of the record, else of its resource: a crash is reported by the next run, which then says
    /// with the event of what it is.
    subscript(key: String) -> String? { attributes[key] ?? resource[key] }
}

/// The log records of a request.
package struct OTLPLogs {
    /// The most log records of a request; an SDK sends 512 at once.
    static let recordsMax = 10_000

    var records: [OTLPRecord] = []
    /// Records beyond the limit.
    var left = 0

    mutating func add(_ record: OTLPRecord) {
        if records.count < Self.recordsMax { records.append(record) } else { left += 1 }
    }

    /// How many records the request had.
    package var count: Int { records.count + left }
}
