// Reads the fields of control records, with the words of each kind.

internal import BrakeEngine
internal import BrakeModel

/// Times after this are none: the year 2255, as far as an exact double of ms goes.
private let timeMax: Int64 = 1 << 53

private let commonKeys = ["v", "type", "by", "at", "reason", "removed"]
private let states = ThrottleState.allCases.map { ($0.name, $0) }
private let modes = Override.Mode.allCases.map { ($0.name, $0) }

extension DocumentFields {
    /// The record, nil when it cannot even be told what it is about; what is wrong is reported.
    mutating func controlRecord(_ value: JSONValue) -> ControlRecord? {
        guard value.fields != nil else {
            _ = object(value, at: "", keys: [])
            return nil
        }
        guard value["v"]?.integer == ControlRecord.version else {
            report("v", "expected \(ControlRecord.version), found \(reported(value["v"]))")
            return nil
        }
        guard let keys = Self.keys(ofType: value["type"]?.text) else {
            let types = ControlRecord.Content.types.joined(separator: ", ")
            report("type", "expected one of \(types), found \(reported(value["type"]))")
            return nil
        }
        let record = object(value, at: "", keys: keys + commonKeys)
        guard let content = content(record, type: value["type"]?.text ?? "") else { return nil }
        return ControlRecord(
            content, by: text(record, "by", charactersMax: ControlRecord.authorCharactersMax),
            at: integer(record, "at", in: 1...timeMax),
            reason: text(record, "reason", charactersMax: ControlRecord.reasonCharactersMax))
    }

    private static func keys(ofType type: String?) -> [String]? {
        switch type {
        case "policy": ["name", "document"]
        case "assignment": ["apps", "policy"]
        case "override": ["app", "mode", "state", "expires_at"]
        case "cap": ["app", "country", "per_hour", "per_day"]
        default: nil
        }
    }

    private mutating func content(_ record: Object, type: String) -> ControlRecord.Content? {
        switch type {
        case "policy": policy(record)
        case "assignment": assignment(record)
        case "override": overrideContent(record)
        default: cap(record)
        }
    }

    /// Whether the record takes back what was said; then nothing else may be said with it.
    private mutating func isRemoval(_ record: Object, without keys: [String]) -> Bool {
        guard let value = record["removed"] else { return false }
        guard value == .bool(true) else {
            report("removed", "expected true or nothing, found \(value.reported)")
            return false
        }
        for key in keys where record[key] != nil { report(key, "not expected with removed") }
        return true
    }

    private mutating func policy(_ record: Object) -> ControlRecord.Content? {
        let name = name(record, "name")
        if isRemoval(record, without: ["document"]) { return .policy(name: name, nil) }
        guard let document = record["document"] else {
            missing(record, "document", "a policy document")
            return nil
        }
        do {
            let stored = try StoredPolicy(document)
            if stored.policy.name != name {
                report("document.name", "expected \"\(name)\", the name of the record")
            }
            return .policy(name: name, stored)
        } catch {
            for problem in error.problems {
                let path = problem.path.isEmpty ? "document" : "document.\(problem.path)"
                report(path, problem.text)
            }
            return nil
        }
    }

    private mutating func assignment(_ record: Object) -> ControlRecord.Content? {
        let expected = "an app id, in which * stands for any characters"
        guard let value = record["apps"] else {
            missing(record, "apps", expected)
            return nil
        }
        guard let apps = value.text.flatMap({ AppPattern($0) }) else {
            report("apps", "expected \(expected), found \(value.reported)")
            return nil
        }
        if isRemoval(record, without: ["policy"]) { return .assignment(apps, policy: nil) }
        return .assignment(apps, policy: name(record, "policy"))
    }

    private mutating func overrideContent(_ record: Object) -> ControlRecord.Content? {
        let app = appOrAll(record)
        if isRemoval(record, without: ["mode", "state", "expires_at"]) {
            return .override(app, nil)
        }
        let terms = OverrideTerms(
            mode: word(record, "mode", of: modes), state: word(record, "state", of: states),
            expiresAt: record["expires_at"] == nil
                ? nil : integer(record, "expires_at", in: 1...timeMax))
        return .override(app, terms)
    }

    private mutating func cap(_ record: Object) -> ControlRecord.Content? {
        var place = CapPlace(app: appOrAll(record))
        if let value = record["country"], value.text != AppPattern.all.text {
            place.country = value.text.flatMap { CountryCode($0) }
            if place.country == nil {
                report("country", "expected two letters or *, found \(value.reported)")
            }
        }
        if isRemoval(record, without: ["per_hour", "per_day"]) { return .cap(place, nil) }
        let most = Int64(FrequencyCaps.perDayMax)
        let perDay = integer(record, "per_day", in: 0...most)
        let perHour = integer(record, "per_hour", in: 0...most)
        if perHour > perDay { report("per_hour", "expected at most per_day, \(perDay)") }
        return .cap(place, FrequencyCaps(perHour: Int(perHour), perDay: Int(perDay)))
    }

    /// An app, nil for `*`; it has to be said which.
    private mutating func appOrAll(_ record: Object) -> AppID? {
        let expected = "an app id, or * for all apps"
        guard let value = record["app"] else {
            missing(record, "app", expected)
            return nil
        }
        if value.text == AppPattern.all.text { return nil }
        let app = value.text.flatMap { AppID($0) }
        if app == nil { report("app", "expected \(expected), found \(value.reported)") }
        return app
    }

    private mutating func text(_ record: Object, _ key: String, charactersMax: Int) -> String {
        let expected = "1 to \(charactersMax) characters"
        guard let value = record[key] else {
            missing(record, key, expected)
            return ""
        }
        guard let text = value.text, !text.allSatisfy(\.isWhitespace),
            text.unicodeScalars.count <= charactersMax
        else {
            report(key, "expected \(expected), found \(value.reported)")
            return ""
        }
        return text
    }

    private func reported(_ value: JSONValue?) -> String { value?.reported ?? "nothing" }
}
