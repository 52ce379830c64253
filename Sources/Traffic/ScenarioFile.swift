// Scenario files: read, checked, every problem named at once.
internal import BrakeWire

/// What is wrong with a scenario file: one line a problem, with its place in the document.
package struct ScenarioProblems: Error, Sendable, Equatable, CustomStringConvertible {
    package var problems: [String]

    package var description: String { problems.joined(separator: "\n") }
}

extension Scenario {
    /// The most bytes of a file.
    package static let fileBytesMax = 64 << 10
    /// The longest time of a scenario: a week of the world.
    static let secondsMax: Int64 = 7 * 86_400

    /// Reads a file's text.
    package init(json bytes: [UInt8]) throws(ScenarioProblems) {
        guard bytes.count <= Self.fileBytesMax else {
            throw ScenarioProblems(problems: ["larger than \(Self.fileBytesMax) bytes"])
        }
        guard let value = DocumentReader(bytesMax: Self.fileBytesMax).read(bytes) else {
            throw ScenarioProblems(problems: ["not a JSON document"])
        }
        var reading = ScenarioReading()
        let scenario = reading.scenario(value)
        guard let scenario, reading.problems.isEmpty else {
            throw ScenarioProblems(problems: reading.problems)
        }
        self = scenario
    }
}

/// Takes a document apart and collects what is wrong with it.
private struct ScenarioReading {
    private(set) var problems: [String] = []

    mutating func scenario(_ value: JSONValue) -> Scenario? {
        guard value.fields != nil else {
            problems.append("the document is not an object")
            return nil
        }
        check(value, "", known: ["name", "about", "crash_share", "troubles"])
        let name = text(value, "", "name")
        let about = text(value, "", "about")
        let crashShare = value["crash_share"] == nil ? 0.0004 : share(value, "", "crash_share")
        var troubles: [Trouble?] = []
        if let list = value["troubles"] {
            if let elements = list.array, elements.count <= Scenario.troublesMax {
                for (index, element) in elements.enumerated() {
                    troubles.append(trouble(element, "troubles[\(index)]."))
                }
            } else {
                problems.append("troubles: expected at most \(Scenario.troublesMax) objects")
            }
        }
        guard let name, let about, let crashShare else { return nil }
        return Scenario(
            name: name, about: about, crashShare: crashShare,
            troubles: troubles.compactMap { $0 })
    }

    private mutating func trouble(_ value: JSONValue, _ place: String) -> Trouble? {
        guard value.fields != nil else {
            problems.append("\(place.dropLast()): expected an object")
            return nil
        }
        let appsShare = value["apps_share"] == nil ? 1 : share(value, place, "apps_share")
        let from = seconds(value, place, "from_s")
        let to = seconds(value, place, "to_s")
        if let from, let to, to <= from { problems.append("\(place)to_s: not after from_s") }
        guard let kind = kind(value, place), let appsShare, let from, let to else { return nil }
        return Trouble(kind, appsShare: appsShare, from: from, to: to)
    }

    private mutating func kind(_ value: JSONValue, _ place: String) -> Trouble.Kind? {
        let common = ["kind", "apps_share", "from_s", "to_s"]
        switch value["kind"]?.text {
        case "ad_crash":
            check(value, place, known: common + ["share", "formats", "vendor"])
            let share = share(value, place, "share")
            let formats = formats(value, place)
            let vendor = text(value, place, "vendor")
            guard let share, let formats, let vendor else { return nil }
            return .adCrash(share: share, formats: formats, vendor: vendor)
        case "crash_loop":
            check(value, place, known: common + ["per_minute"])
            guard let rate = value["per_minute"]?.integer, (1...60).contains(rate) else {
                problems.append("\(place)per_minute: expected a whole number from 1 to 60")
                return nil
            }
            return .crashLoop(perMinute: Int(rate))
        case "launch_crash":
            check(value, place, known: common + ["share"])
            return share(value, place, "share").map { .launchCrash(share: $0) }
        case "lull":
            check(value, place, known: common + ["share"])
            return share(value, place, "share").map { .lull(share: $0) }
        default:
            problems.append(
                "\(place)kind: expected one of ad_crash, crash_loop, launch_crash, lull")
            return nil
        }
    }

    private mutating func formats(_ value: JSONValue, _ place: String) -> [AdFormat]? {
        let known = AdFormat.allCases.map(\.name).joined(separator: ", ")
        guard let words = value["formats"]?.array, !words.isEmpty else {
            problems.append("\(place)formats: expected some of \(known)")
            return nil
        }
        let formats = words.map { $0.text.flatMap { AdFormat(name: $0) } }
        for (index, format) in formats.enumerated() where format == nil {
            problems.append("\(place)formats[\(index)]: expected one of \(known)")
        }
        return formats.compactMap { $0 }
    }

    private mutating func text(_ value: JSONValue, _ place: String, _ key: String) -> String? {
        guard let text = value[key]?.text, (1...200).contains(text.count) else {
            problems.append("\(place)\(key): expected a text of 1 to 200 characters")
            return nil
        }
        return text
    }

    private mutating func share(_ value: JSONValue, _ place: String, _ key: String) -> Double? {
        guard let share = value[key]?.number, (0...1).contains(share) else {
            problems.append("\(place)\(key): expected a number from 0 to 1")
            return nil
        }
        return share
    }

    private mutating func seconds(_ value: JSONValue, _ place: String, _ key: String) -> Int64? {
        guard let seconds = value[key]?.integer, (0...Scenario.secondsMax).contains(seconds) else {
            problems.append(
                "\(place)\(key): expected whole seconds from 0 to \(Scenario.secondsMax)")
            return nil
        }
        return seconds
    }

    /// A misspelt field would be silently without effect.
    private mutating func check(_ value: JSONValue, _ place: String, known: [String]) {
        for field in value.fields ?? [] where !known.contains(field.key) {
            problems.append("\(place)\(field.key): unknown field")
        }
    }
}
