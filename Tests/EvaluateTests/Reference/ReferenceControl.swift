// What people decide, as the reference understands it: which policy an app has, and what is
// published over what is computed. Everything is looked up anew from the list of all records.

/// A line of `control` in an input, in the order of arrival.
struct ReferenceControl {
    let append: Int64
    let value: JSONText

    /// An override that was said and neither replaced nor removed by a later line.
    struct Held: Equatable {
        let line: Int
        let mode: String
        let state: Int
        /// The first full second from which on it holds no more.
        let end: Int64?

        func published(_ computed: Int) -> Int {
            switch mode {
            case "pin": state
            case "at_least": max(computed, state)
            default: min(computed, state)
            }
        }
    }

    /// Those that every installation has.
    private static let builtIn: [String: ReferencePolicy] = Dictionary(
        uniqueKeysWithValues: ["default", "article"].compactMap { name in
            ReferencePolicy(TestPolicy.text(name)).map { (name, $0) }
        })

    /// The policy of an app after so many lines: the assignment that names it, else the pattern
    /// with most characters, else the base.
    static func policy(
        of app: String, _ lines: ArraySlice<ReferenceControl>, base: ReferencePolicy
    ) -> ReferencePolicy {
        var known = builtIn
        known[base.name] = base
        var policies = known
        var assigned: [String: String] = [:]
        for line in lines {
            switch line.value["type"]?.string {
            case "policy":
                let name = line.value["name"]?.string ?? ""
                let document = line.value["document"].flatMap { ReferencePolicy($0) }
                policies[name] = document ?? known[name]
            case "assignment":
                assigned[line.value["apps"]?.string ?? ""] = line.value["policy"]?.string
            default: break
            }
        }
        let fitting = assigned.filter {
            fits(Array($0.key), Array(app)) && policies[$0.value] != nil
        }
        let best = fitting.keys.max { rank($0) < rank($1) }
        return best.flatMap { fitting[$0] }.flatMap { policies[$0] } ?? policies[base.name] ?? base
    }

    private static func rank(_ pattern: String) -> (Int, Int, String) {
        let letters = pattern.count { $0 != "*" }
        // Of equals the first by text; texts here are of single bytes.
        let opposite = String(
            pattern.unicodeScalars.map { Character(UnicodeScalar(UInt8(255 - $0.value))) })
        return (letters == pattern.count ? 1 : 0, letters, opposite)
    }

    private static func fits(_ pattern: [Character], _ app: [Character]) -> Bool {
        guard let first = pattern.first else { return app.isEmpty }
        let rest = Array(pattern.dropFirst())
        if first == "*" {
            return (0...app.count).contains { fits(rest, Array(app.dropFirst($0))) }
        }
        return app.first == first && fits(rest, Array(app.dropFirst()))
    }

    /// The override of an app after so many lines: its own, else that of all.
    static func held(
        _ app: String, _ lines: ArraySlice<ReferenceControl>, at tick: Int64
    ) -> Held? {
        func last(_ name: String) -> Held? {
            guard
                let index = lines.lastIndex(where: {
                    $0.value["type"]?.string == "override" && $0.value["app"]?.string == name
                }), let mode = lines[index].value["mode"]?.string,
                let word = lines[index].value["state"]?.string,
                let state = ReferencePolicy.stateNames.firstIndex(of: word)
            else { return nil }
            let end = (lines[index].value["expires_at"]?.integer).map { ($0 + 999) / 1_000 * 1_000 }
            if let end, end <= tick { return nil }
            return Held(line: index, mode: mode, state: state, end: end)
        }
        return last(app) ?? last("*")
    }

    /// Whether the app has an override of its own that is in force.
    static func isNamed(
        _ app: String, _ lines: ArraySlice<ReferenceControl>, at tick: Int64
    ) -> Bool {
        guard let held = held(app, lines, at: tick) else { return false }
        return lines[held.line].value["app"]?.string == app
    }

    /// Times at which something may change though no tick of a policy is due: right behind each
    /// line, at the full second that follows it, and where an override ends.
    static func stops(_ lines: [ReferenceControl]) -> [Int64] {
        var stops: Set<Int64> = []
        for line in lines {
            stops.insert(line.append + 1)
            stops.insert((line.append / 1_000 + 1) * 1_000)
            if let end = line.value["expires_at"]?.integer {
                stops.insert((end + 999) / 1_000 * 1_000)
            }
        }
        return stops.sorted()
    }
}

/// What was published last of an app, and what is due.
struct ReferencePublisher {
    private(set) var revision = 0
    private var state = 0
    /// The line of the override that had made the state what it was.
    private var shape: Int?

    /// The change to be published when this is computed and this override holds; nil: none.
    mutating func publish(
        _ computed: Int, _ held: ReferenceControl.Held?
    ) -> (state: Int, isShaped: Bool)? {
        let now = held?.published(computed) ?? computed
        let isShaped = held.map { $0.mode == "pin" || now != computed } ?? false
        let shape = isShaped ? held?.line : nil
        guard revision == 0 || now != state || shape != self.shape else { return nil }
        revision += 1
        state = now
        self.shape = shape
        return (now, isShaped)
    }
}
