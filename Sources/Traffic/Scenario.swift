// What goes wrong in a fleet, and when: a value, from a file or built in.

/// A fleet's fate. `ops/scenarios/README.md` documents the file format.
package struct Scenario: Sendable, Equatable {
    /// How many troubles one scenario may have.
    package static let troublesMax = 32

    package var name: String
    /// One sentence for a person.
    package var about: String
    /// The share of foreground sessions that crash for no special reason.
    package var crashShare: Double
    package var troubles: [Trouble]

    package init(
        name: String, about: String, crashShare: Double = 0.0004, troubles: [Trouble] = []
    ) {
        precondition(troubles.count <= Self.troublesMax, "scenarios are small")
        self.name = name
        self.about = about
        self.crashShare = crashShare
        self.troubles = troubles
    }

    /// The share of usual traffic at this second.
    func level(at second: Int64, app: Int) -> Double {
        var level = 1.0
        for trouble in troubles where trouble.isActive(at: second, app: app) {
            if case .lull(let share) = trouble.kind { level = min(level, share) }
        }
        return level
    }
}

/// One thing that goes wrong, for some apps, for some time.
package struct Trouble: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// An ad SDK crashes the app at a share of the shows of some formats.
        case adCrash(share: Double, formats: [AdFormat], vendor: String)
        /// One device of each app crashes at launch, again and again.
        case crashLoop(perMinute: Int)
        /// A build dies at launch, before it can report anything but its start.
        case launchCrash(share: Double)
        /// Traffic falls to a share.
        case lull(share: Double)
    }

    package var kind: Kind
    /// The share of the fleet's apps that have it; at least one app does.
    package var appsShare: Double
    /// Seconds of the world's time, from its start.
    package var from: Int64
    package var to: Int64

    package init(_ kind: Kind, appsShare: Double = 1, from: Int64, to: Int64) {
        self.kind = kind
        self.appsShare = appsShare
        self.from = from
        self.to = to
    }

    /// Whether an app has it: spread evenly over the fleet, the same for every size and seed.
    package func affects(app: Int) -> Bool {
        // Rounded up, so that the first app always has it; the epsilon keeps 1/3 of 3 at 1.
        let before = (Double(app) * appsShare - 1e-9).rounded(.up)
        let after = (Double(app + 1) * appsShare - 1e-9).rounded(.up)
        return after > before
    }

    func isActive(at second: Int64, app: Int) -> Bool {
        second >= from && second < to && affects(app: app)
    }
}
