// What the admin listener answers, in words for a person.

import BrakeWire
import Runtime

/// Lines of text, one decision each.
enum AdminText {
    static func list(_ document: JSONValue) -> [String] {
        var lines: [String] = []
        for (key, type) in [
            ("overrides", "override"), ("assignments", "assignment"), ("policies", "policy"),
            ("caps", "cap"),
        ] {
            for item in document[key]?.array ?? [] {
                let isOver = item["in_force"] == .bool(false)
                lines.append(
                    (isOver ? "(ended) " : "") + what(item, type: type) + " " + who(item))
            }
        }
        for item in document["ignored"]?.array ?? [] {
            lines.append(
                "ignored: the record at offset \(item["offset"]?.integer ?? 0): "
                    + (item["problem"]?.text ?? ""))
        }
        if lines.isEmpty { lines = ["nothing is decided: the rules and built-in caps hold"] }
        return lines
    }

    static func history(_ document: JSONValue) -> [String] {
        (document["history"]?.array ?? []).map { item in
            let place = "\(item["offset"]?.integer ?? 0)"
            if let problem = item["ignored"]?.text { return "\(place)  ignored: \(problem)" }
            return "\(place)  \(what(item, type: item["type"]?.text ?? "")) \(who(item))"
        }
    }

    static func decided(_ record: JSONValue) -> String {
        "decided: \(what(record, type: record["type"]?.text ?? "")) \(who(record))"
    }

    static func rehearsal(_ document: JSONValue) -> [String] {
        let changed = document["changed"]?.integer ?? 0
        var lines = [
            "from \(time(document["from"])) to \(time(document["until"])): \(changed) of "
                + "\(document["apps"]?.integer ?? 0) apps would have gone another way"
        ]
        for item in document["list"]?.array ?? [] {
            lines.append(
                "  \(item["app"]?.text ?? "")  now \(course(item["now"])), "
                    + "then \(course(item["then"]))")
        }
        if document["partial"] == .bool(true) {
            lines.append("  time was up: not all partitions have been looked at")
        }
        let leftOut = document["partitions_left_out"]?.array ?? []
        if !leftOut.isEmpty {
            lines.append("  left out: \(leftOut.count) partitions, whose hour is no longer there")
        }
        return lines
    }

    private static func course(_ item: JSONValue?) -> String {
        "\(item?["state"]?.text ?? "?") (at most \(item?["strictest"]?.text ?? "?"), "
            + "\(item?["changes"]?.integer ?? 0) changes\(caps(item)))"
    }

    private static func caps(_ course: JSONValue?) -> String {
        let nonFatals = course?["caps_as_nf"]?.integer ?? 0
        return nonFatals > 0 ? ", caps as with nf \(nonFatals)" : ""
    }

    private static func what(_ item: JSONValue, type: String) -> String {
        let isRemoved = item["removed"] == .bool(true)
        switch type {
        case "override":
            let app = item["app"]?.text ?? "?"
            if isRemoved { return "release \(app)" }
            let end = item["expires_at"].map { " until \(time($0))" } ?? ""
            return "\(item["mode"]?.text ?? "?") \(app) \(item["state"]?.text ?? "?")\(end)"
        case "assignment":
            let apps = item["apps"]?.text ?? "?"
            if isRemoved { return "unassign \(apps)" }
            return "\(apps) has policy \(item["policy"]?.text ?? "?")"
        case "policy":
            let name = item["name"]?.text ?? "?"
            if isRemoved { return "remove policy \(name)" }
            let version = item["version"]?.integer ?? item["document"]?["version"]?.integer ?? 0
            return "policy \(name), version \(version)"
        default:
            let place = "\(item["app"]?.text ?? "*") in \(item["country"]?.text ?? "*")"
            if isRemoved { return "remove caps of \(place)" }
            return "caps of \(place): \(item["per_hour"]?.integer ?? 0) an hour, "
                + "\(item["per_day"]?.integer ?? 0) a day"
        }
    }

    private static func who(_ item: JSONValue) -> String {
        "(\(item["by"]?.text ?? "?"), \(time(item["at"])): \(item["reason"]?.text ?? "?"))"
    }

    private static func time(_ value: JSONValue?) -> String {
        value?.integer.map { ISO8601.text(milliseconds: $0) } ?? "?"
    }
}
