// What a person asks to be decided: checked where it is entered, so that nothing wrong is stored.

import BrakeEngine
import BrakeModel
import BrakeWire

/// A decision about to be taken down.
struct Decision {
    let record: ControlRecord

    /// The decision that a body tells: a control record without version, author and time, which
    /// are not the sender's to say.
    init(_ body: JSONValue, by name: String, at time: Int64) throws(DocumentProblems) {
        guard let fields = body.fields else {
            throw DocumentProblems("expected an object with type, reason and what is decided")
        }
        var problems: [DocumentProblem] = []
        for key in ["v", "by", "at"] where body[key] != nil {
            problems.append(
                DocumentProblem(path: key, text: "not expected: the listener puts it in"))
        }
        let own = fields.filter { !["v", "by", "at"].contains($0.key) }
        let added = JSONValue.object([
            .init(key: "v", value: .integer(ControlRecord.version)),
            .init(key: "by", value: .text(name)), .init(key: "at", value: .integer(time)),
        ])
        do throws(DocumentProblems) {
            record = try ControlRecord(.object(own + (added.fields ?? [])))
        } catch {
            throw DocumentProblems(problems + error.problems)
        }
        if !problems.isEmpty { throw DocumentProblems(problems) }
    }

    /// What only the rest of what is decided can show to be wrong.
    func check(against ledger: ControlLedger) throws(DocumentProblems) {
        var problems: [DocumentProblem] = []
        func add(_ path: String, _ text: String) {
            problems.append(DocumentProblem(path: path, text: text))
        }
        switch record.content {
        case .policy(let name, let stored?):
            let known = ledger.policies[name]?.value.policy ?? BuiltInPolicies.policy(named: name)
            if let known, known != stored.policy, known.version >= stored.policy.version {
                add(
                    "document.version",
                    "expected more than \(known.version): other rules have had that version")
            }
        case .policy(let name, nil):
            let users = ledger.assignments.filter { $0.value.value == name }.keys.sorted()
            if ledger.policies[name] == nil {
                add("name", "no such policy is in control")
            } else if !users.isEmpty, BuiltInPolicies.policy(named: name) == nil {
                let list = users.map(\.text).joined(separator: ", ")
                add("name", "still assigned to \(list)")
            }
        case .assignment(let apps, nil):
            if ledger.assignments[apps] == nil { add("apps", "nothing is assigned to these") }
        case .assignment(_, let policy?):
            let names = Set(ledger.policies.keys).union(BuiltInPolicies.names)
            if !names.contains(policy) {
                let list = names.sorted().joined(separator: ", ")
                add("policy", "no policy of this name; there are \(list)")
            }
        case .override(let app, nil):
            if ledger.overrides[app] == nil {
                add("app", "\(app?.text ?? "the fleet") has no override of its own")
            }
        case .override(_, let terms?):
            if let end = terms.expiresAt, end <= record.at {
                add("expires_at", "expected a time after now, \(record.at)")
            }
        case .cap(let place, nil):
            if ledger.caps[place] == nil { add("app", "no caps are set for \(place)") }
        case .cap: break
        }
        guard problems.isEmpty else { throw DocumentProblems(problems) }
    }
}
