// The record of an app's current state, as it stands in the throttle table.

package import BrakeModel

/// A change of state with the epoch that published it. Encoded, equal records have equal bytes.
package struct ThrottleRecord: Sendable, Equatable {
    /// The version of the format that we write and read.
    package static let version: Int64 = 1

    package var change: ThrottleChange
    package var partition: Int
    package var epoch: Int64

    package init(change: ThrottleChange, partition: Int, epoch: Int64) {
        self.change = change
        self.partition = partition
        self.epoch = epoch
    }

    package func encode() -> [UInt8] {
        JSONWriter.bytes(capacity: 1_024) { record in
            record.object { record in
                record.field("v", ThrottleRecord.version)
                record.field("app", change.app.text)
                record.field("state", change.state.name)
                record.field("severity", change.state.severity)
                record.field("since", change.since)
                record.field("revision", change.revision)
                record.field("policy", change.policy)
                record.field("cause", change.cause.name)
                if let override = change.override {
                    record.object("override") { $0.write(override, over: change.computed) }
                }
                record.object("why") { $0.write(change.why) }
                record.field("partition", partition)
                record.field("epoch", epoch)
            }
        }
    }

    /// The record of these bytes. A version, state or cause that this build does not know is a
    /// rejection: to guess what an app may do is worse than to keep what was known.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(Rejection) -> ThrottleRecord {
        let record = unsafe try reader.record(bytes, version: version)
        return ThrottleRecord(
            change: try ThrottleChange(record),
            partition: try record.required("partition", \.count),
            epoch: try record.required("epoch", \.integer))
    }
}

extension ThrottleChange {
    /// The change that a record tells, or a document with the same fields.
    package init(_ record: JSONValue) throws(Rejection) {
        guard let app = (record["app"]?.text).flatMap({ AppID($0) }) else { throw .badApp }
        let held = try record["override"].map(HeldState.init)
        self.init(
            app: app,
            state: try record.required("state") { $0.text.flatMap { ThrottleState(name: $0) } },
            since: try record.required("since", \.integer),
            revision: try record.required("revision", \.integer),
            policy: try record.required("policy", \.text),
            cause: try record.required("cause") { $0.text.flatMap { ThrottleCause(name: $0) } },
            why: try Why(record["why"] ?? .null), override: held?.override,
            computed: held?.computed)
    }
}

/// An override with what it is held over.
private struct HeldState {
    var override: Override
    var computed: ThrottleState

    init(_ value: JSONValue) throws(Rejection) {
        let app = try value.required("app", \.text)
        let id = AppID(app)
        guard id != nil || app == AppPattern.all.text else { throw .badApp }
        override = Override(
            app: id,
            mode: try value.required("mode") { $0.text.flatMap { Override.Mode(name: $0) } },
            state: try value.required("state") { $0.text.flatMap { ThrottleState(name: $0) } },
            reason: try value.required("reason", \.text), by: try value.required("by", \.text),
            expiresAt: value["expires_at"]?.integer,
            number: try value.required("control", \.integer))
        computed = try value.required("computed") { value in
            value.text.flatMap { ThrottleState(name: $0) }
        }
    }
}

extension JSONWriter {
    /// Who holds a state to what, why and until when, and what it would be without.
    package mutating func write(_ override: Override, over computed: ThrottleState) {
        field("app", override.app?.text ?? AppPattern.all.text)
        field("mode", override.mode.name)
        field("state", override.state.name)
        field("by", override.by)
        field("reason", override.reason)
        key("expires_at")
        if let expiresAt = override.expiresAt { integer(expiresAt) } else { null() }
        field("control", override.number)
        field("computed", computed.name)
    }

    package mutating func write(_ why: Why) {
        field("clock", why.clock)
        field("rule", why.rule)
        array("windows") { list in
            for window in why.windows { list.object { $0.write(window) } }
        }
    }

    fileprivate mutating func write(_ window: WindowCounts) {
        field("window_s", window.windowSeconds)
        field("sessions", window.sessions)
        field("crashes", window.crashes)
        field("crashed_sessions", window.crashedSessions)
        field("crashing_sessions", window.crashingSessions)
        field("crashed_devices", window.crashedDevices)
        field("rate", window.rate)
        field("low", window.low)
        field("high", window.high)
        field("sample", window.sample.name)
    }
}

extension Why {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init(
            clock: try value.required("clock", \.integer), rule: value["rule"]?.text,
            windows: try value.required("windows", \.array).mapRejecting(WindowCounts.init))
    }
}

extension WindowCounts {
    fileprivate init(_ value: JSONValue) throws(Rejection) {
        self.init(windowSeconds: try value.required("window_s", \.count))
        sessions = try value.required("sessions", \.count)
        crashes = try value.required("crashes", \.count)
        crashedSessions = try value.required("crashed_sessions", \.count)
        crashingSessions = try value.required("crashing_sessions", \.count)
        crashedDevices = try value.required("crashed_devices", \.count)
        rate = value["rate"]?.number
        low = value["low"]?.number
        high = value["high"]?.number
        sample = try value.required("sample") { value in
            SampleVerdict.all.first { $0.name == value.text }
        }
    }
}

extension SampleVerdict {
    fileprivate static let all: [SampleVerdict] = [.insufficient, .sufficient, .anomalous]
}

extension JSONValue {
    /// An integer that is not negative.
    var count: Int? { integer.flatMap { $0 >= 0 ? Int(exactly: $0) : nil } }

    /// What a field of a record must have.
    func required<Value>(
        _ key: String, _ read: (JSONValue) -> Value?
    ) throws(Rejection) -> Value {
        guard let value = self[key].flatMap(read) else { throw .badField }
        return value
    }
}

extension Array {
    /// `map` whose errors are rejections.
    func mapRejecting<Value>(
        _ transform: (Element) throws(Rejection) -> Value
    ) throws(Rejection) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for element in self { values.append(try transform(element)) }
        return values
    }
}
