// What people have decided, as it stands in the `control` topic: an audit trail, each record with
// who, when and why.

package import BrakeEngine
package import BrakeModel

/// A record of `control`. A later one of the same subject replaces an earlier one; one that removes
/// leaves what held before anything was said.
package struct ControlRecord: Sendable, Equatable {
    /// The version of the format that we write and read.
    package static let version: Int64 = 1
    /// The most characters of a reason, and of an author.
    package static let reasonCharactersMax = 500
    package static let authorCharactersMax = 64

    /// What is said; nil stands for its removal.
    package enum Content: Sendable, Equatable {
        case policy(name: String, StoredPolicy?)
        /// The policy, by name, of the apps that fit a pattern.
        case assignment(AppPattern, policy: String?)
        /// The override of an app, or of all.
        case override(AppID?, OverrideTerms?)
        case cap(CapPlace, FrequencyCaps?)

        /// The word in `type`.
        package var type: String {
            switch self {
            case .policy: "policy"
            case .assignment: "assignment"
            case .override: "override"
            case .cap: "cap"
            }
        }

        package static let types = ["policy", "assignment", "override", "cap"]
    }

    package var content: Content
    /// Who has decided it.
    package var by: String
    /// When, ms since 1970, by the clock of whoever took it down.
    package var at: Int64
    /// Why.
    package var reason: String

    package init(_ content: Content, by: String, at: Int64, reason: String) {
        self.content = content
        self.by = by
        self.at = at
        self.reason = reason
    }
}

/// A policy with the document that it was read from.
package struct StoredPolicy: Sendable, Equatable {
    package let policy: Policy
    package let document: JSONValue

    /// Throws everything that is wrong with the document.
    package init(_ document: JSONValue) throws(DocumentProblems) {
        policy = try PolicyDocument.policy(document)
        self.document = document
    }
}

/// What an override says.
package struct OverrideTerms: Sendable, Equatable {
    package var mode: Override.Mode
    package var state: ThrottleState
    /// Nil: until it is removed.
    package var expiresAt: Int64?

    package init(mode: Override.Mode, state: ThrottleState, expiresAt: Int64?) {
        self.mode = mode
        self.state = state
        self.expiresAt = expiresAt
    }
}

extension ControlRecord {
    package func encode() -> [UInt8] {
        JSONWriter.bytes { record in
            record.object { record in
                record.field("v", ControlRecord.version)
                record.field("type", content.type)
                record.write(content)
                record.field("by", by)
                record.field("at", at)
                record.field("reason", reason)
            }
        }
    }

    /// The record of these bytes; throws everything that is wrong with it. Unlike in other records
    /// a field that is not known is wrong: what a person has decided is not done by halves.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(DocumentProblems) -> ControlRecord {
        guard let value = unsafe reader.read(bytes) else { throw DocumentProblems("expected JSON") }
        return try ControlRecord(value)
    }

    /// The record of a document.
    package init(_ value: JSONValue) throws(DocumentProblems) {
        var fields = DocumentFields()
        let record = fields.controlRecord(value)
        guard let record, fields.problems.isEmpty else { throw DocumentProblems(fields.problems) }
        self = record
    }
}

extension JSONWriter {
    /// The fields of what a control record says.
    package mutating func write(_ content: ControlRecord.Content) {
        switch content {
        case .policy(let name, let stored):
            field("name", name)
            guard let stored else { return field("removed", true) }
            key("document")
            write(stored.document)
        case .assignment(let apps, let policy):
            field("apps", apps.text)
            guard let policy else { return field("removed", true) }
            field("policy", policy)
        case .override(let app, let terms):
            field("app", app?.text ?? AppPattern.all.text)
            guard let terms else { return field("removed", true) }
            field("mode", terms.mode.name)
            field("state", terms.state.name)
            if let expiresAt = terms.expiresAt { field("expires_at", expiresAt) }
        case .cap(let place, let caps):
            field("app", place.app?.text ?? AppPattern.all.text)
            field("country", place.country?.text ?? AppPattern.all.text)
            guard let caps else { return field("removed", true) }
            field("per_hour", caps.perHour)
            field("per_day", caps.perDay)
        }
    }
}
