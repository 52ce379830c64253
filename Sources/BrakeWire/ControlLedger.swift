// The `control` topic folded into what holds: of each subject the last word.

package import BrakeEngine
package import BrakeModel

/// What people have decided, up to an offset of `control`; it depends on the records alone.
package struct ControlLedger: Sendable {
    /// The most that is kept of each kind; what goes beyond is refused like a bad record.
    package static let policiesMax = 200
    package static let assignmentsMax = 1_000
    package static let overridesMax = 10_000
    package static let capsMax = 100_000
    /// The last bad records, of which notices tell.
    package static let rejectionsMax = 100

    /// What holds of a subject, with the record that says so.
    package struct Entry<Value: Sendable>: Sendable {
        package var value: Value
        package var record: ControlRecord
        /// The record's offset.
        package var offset: Int64
    }

    /// A record that could not be used.
    package struct RejectedControl: Sendable, Equatable {
        package var offset: Int64
        package var reason: String
    }

    /// The offset after the last record taken.
    package private(set) var end: Int64 = 0
    package private(set) var policies: [String: Entry<StoredPolicy>] = [:]
    package private(set) var assignments: [AppPattern: Entry<String>] = [:]
    /// By app; nil: all.
    package private(set) var overrides: [AppID?: Entry<Override>] = [:]
    package private(set) var caps: [CapPlace: Entry<FrequencyCaps>] = [:]
    package private(set) var rejections: [RejectedControl] = []

    package init() {}

    /// Takes the next record of the topic.
    package mutating func take(
        offset: Int64, value: UnsafeRawBufferPointer?, with reader: DocumentReader
    ) {
        end = max(end, offset + 1)
        guard let value = unsafe value else { return reject(offset, "it has no value") }
        do throws(DocumentProblems) {
            try take(unsafe ControlRecord.decode(value, with: reader), offset: offset)
        } catch {
            reject(offset, error.description)
        }
    }

    /// Takes a record that has been read already.
    package mutating func take(
        _ record: ControlRecord, offset: Int64
    ) throws(DocumentProblems) {
        end = max(end, offset + 1)
        switch record.content {
        case .policy(let name, let stored):
            try Self.set(&policies, name, stored, record, offset, max: Self.policiesMax)
        case .assignment(let apps, let policy):
            try Self.set(&assignments, apps, policy, record, offset, max: Self.assignmentsMax)
        case .override(let app, let terms):
            let value = terms.map { terms in
                Override(
                    app: app, mode: terms.mode, state: terms.state, reason: record.reason,
                    by: record.by, expiresAt: terms.expiresAt, number: offset)
            }
            try Self.set(&overrides, app, value, record, offset, max: Self.overridesMax)
        case .cap(let place, let value):
            try Self.set(&caps, place, value, record, offset, max: Self.capsMax)
        }
    }

    private static func set<Key, Value>(
        _ table: inout [Key: Entry<Value>], _ key: Key, _ value: Value?, _ record: ControlRecord,
        _ offset: Int64, max: Int
    ) throws(DocumentProblems) {
        guard let value else {
            table[key] = nil
            return
        }
        guard table[key] != nil || table.count < max else {
            throw DocumentProblems("more than \(max) of type \(record.content.type)")
        }
        table[key] = Entry(value: value, record: record, offset: offset)
    }

    private mutating func reject(_ offset: Int64, _ reason: String) {
        rejections.append(RejectedControl(offset: offset, reason: reason))
        if rejections.count > Self.rejectionsMax { rejections.removeFirst() }
    }

    // MARK: What follows from it

    /// The policy of a name: as people have written it last, else as the program was started with
    /// it, else a built-in one; nil for a name that nobody knows.
    package func policy(named name: String, base: Policy) -> Policy? {
        policies[name]?.value.policy
            ?? (base.name == name ? base : BuiltInPolicies.policy(named: name))
    }

    /// What an evaluator has to know. `base` is the policy of apps that no assignment names;
    /// `isHome` says whose overrides are its own.
    package func controls(base: Policy, isHome: (AppID) -> Bool) -> Controls {
        var controls = Controls(policies: [policy(named: base.name, base: base) ?? base])
        for (pattern, entry) in assignments.sorted(by: { $0.key < $1.key }) {
            // One that names an unknown policy is as if it were not there.
            guard let policy = policy(named: entry.value, base: base) else { continue }
            let place = controls.policies.firstIndex { $0.name == policy.name }
            if place == nil {
                guard controls.policies.count < Controls.policiesMax else { continue }
                controls.policies.append(policy)
            }
            controls.assignments.append(
                .init(pattern, place: place ?? controls.policies.count - 1))
        }
        controls.overrides = overrides.values.map(\.value)
            .filter { $0.app.map(isHome) ?? true }
            .sorted { $0.number < $1.number }
        return controls
    }

    /// The base caps by place.
    package var capTable: CapTable {
        var table = CapTable()
        table.places = caps.mapValues(\.value)
        return table
    }
}
