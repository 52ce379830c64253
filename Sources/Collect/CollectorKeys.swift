// Who may report for which apps.

package import BrakeModel
package import Runtime

/// The keys of a collector: each is allowed some apps, or all. A file of lines
/// `KEY APPS [rate=N] [project=N:APP,...]`: apps with commas between, `*` for every app; `rate` is
/// in events a second, `none` lifts the limit; `project` tells which app a project number in the
/// address of a Sentry SDK means. `#` begins a comment.
package struct CollectorKeys: Sendable, Equatable {
    /// The most bytes of a key, and the fewest: shorter ones can be guessed.
    package static let keyBytes = 16...256
    /// The most keys.
    package static let keysMax = 10_000
    /// The highest rate that makes sense, in events a second.
    package static let rateMax = 100_000_000

    package enum Scope: Sendable, Equatable {
        case all
        case apps(Set<AppID>)

        package func allows(_ app: AppID) -> Bool {
            switch self {
            case .all: true
            case .apps(let apps): apps.contains(app)
            }
        }
    }

    /// What a key may do.
    package struct Grant: Sendable, Equatable {
        package var scope: Scope
        /// Events a second; 0: no limit, nil: that of the collector.
        package var rate: Int?
        package var projects: [String: AppID] = [:]

        /// The app that a project number means: as the file says, else the one app of the key,
        /// else the number is the app's id; nil when the key is not for it.
        package func app(ofProject project: String) -> AppID? {
            if let app = projects[project] { return app }
            if case .apps(let apps) = scope, apps.count == 1 { return apps.first }
            return app(named: project)
        }

        /// The app of that name, or the one app of the key; nil when the key is not for it.
        package func app(named name: String?) -> AppID? {
            if case .apps(let apps) = scope, apps.count == 1 { return apps.first }
            return name.flatMap { AppID($0) }.flatMap { scope.allows($0) ? $0 : nil }
        }
    }

    /// What is wrong with a line of the file; the key itself is not repeated.
    package typealias Problem = WordLine.Problem

    private var grants: [String: Grant] = [:]

    package var count: Int { grants.count }

    /// Reads the text of a file.
    package init(_ text: String) throws(Problem) {
        for line in WordLine.all(of: text) {
            let (number, words) = (line.number, line.words)
            guard words.count >= 2 else {
                throw Problem(line: number, reason: "expected a key, a space, and apps or *")
            }
            let key = String(words[0])
            guard Self.keyBytes.contains(key.utf8.count) else {
                let (least, most) = (Self.keyBytes.lowerBound, Self.keyBytes.upperBound)
                throw Problem(line: number, reason: "a key has \(least) to \(most) bytes")
            }
            guard grants[key] == nil else {
                throw Problem(line: number, reason: "the same key as on a line before")
            }
            var grant = Grant(scope: try Self.scope(words[1], line: number))
            for word in words[2...] { try Self.read(word, into: &grant, line: number) }
            grants[key] = grant
            guard grants.count <= Self.keysMax else {
                throw Problem(line: number, reason: "more than \(Self.keysMax) keys")
            }
        }
    }

    private static func scope(_ word: Substring, line: Int) throws(Problem) -> Scope {
        if word == "*" { return .all }
        var apps: Set<AppID> = []
        for name in word.split(separator: ",") { apps.insert(try app(name, line: line)) }
        guard !apps.isEmpty else { throw Problem(line: line, reason: "no apps") }
        return .apps(apps)
    }

    private static func app(_ name: Substring, line: Int) throws(Problem) -> AppID {
        guard let app = AppID(name) else {
            throw Problem(line: line, reason: "\(name.prefix(80)) is not an app id")
        }
        return app
    }

    private static func read(
        _ word: Substring, into grant: inout Grant, line: Int
    ) throws(Problem) {
        let parts = word.split(separator: "=", maxSplits: 1)
        switch parts.first {
        case "rate" where parts.count == 2:
            guard parts[1] != "none" else { return grant.rate = 0 }
            guard let rate = Int(parts[1]), (1...rateMax).contains(rate) else {
                throw Problem(
                    line: line, reason: "rate is none, or 1 to \(rateMax) events a second")
            }
            grant.rate = rate
        case "project" where parts.count == 2:
            for pair in parts[1].split(separator: ",") {
                let sides = pair.split(separator: ":", maxSplits: 1)
                guard sides.count == 2, sides[0].utf8.count <= 20, UInt64(sides[0]) != nil else {
                    throw Problem(line: line, reason: "project is NUMBER:APP,NUMBER:APP")
                }
                let app = try app(sides[1], line: line)
                guard grant.scope.allows(app) else {
                    throw Problem(line: line, reason: "\(app) is not among the apps of the key")
                }
                grant.projects[String(sides[0])] = app
            }
        default:
            throw Problem(
                line: line, reason: "after the apps, only rate=... and project=... are known")
        }
    }

    /// What a key may do, nil for one that is not known.
    package func grant(of key: String) -> Grant? { grants[key] }
}
