// How often an app may show ads: base caps by app and country, eased for people who are annoyed.

package import BrakeModel

/// How many ads an hour and a day.
package struct FrequencyCaps: Sendable, Equatable {
    package var perHour: Int
    package var perDay: Int

    /// What holds where nothing else is said.
    package static let builtIn = FrequencyCaps(perHour: 3, perDay: 8)
    /// While the state forbids ads between screens.
    package static let none = FrequencyCaps(perHour: 0, perDay: 0)

    /// Never negative.
    package init(perHour: Int, perDay: Int) {
        self.perHour = max(0, perHour)
        self.perDay = max(0, perDay)
    }

    /// These base caps after so many signs of annoyance: never above the base, and never more an
    /// hour than a day.
    package func eased(by annoyance: Annoyance) -> FrequencyCaps {
        var caps = self
        switch annoyance {
        case .none: break
        case .once: caps.perHour = max(1, perHour - 1)
        case .repeated:
            caps.perHour = max(1, perHour / 2)
            // In integers: 0.6 is no exact binary fraction. Divided first, so that nothing
            // overflows.
            caps.perDay = max(2, perDay / 5 * 3 + perDay % 5 * 3 / 5)
        }
        caps.perDay = min(caps.perDay, perDay)
        caps.perHour = min(caps.perHour, perHour, caps.perDay)
        return caps
    }

    /// What is left of them in a state.
    package func allowed(in state: ThrottleState) -> FrequencyCaps {
        state >= .throttle ? .none : self
    }
}

/// How often a person has been annoyed by ads lately, the `nf` of a request.
package enum Annoyance: Sendable, Equatable {
    case none
    case once
    /// Twice or more; also what is no count at all, to be on the safe side.
    case repeated

    /// The count as a request gives it; nil when it gives none.
    package init(_ text: String?) {
        guard let text else {
            self = .none
            return
        }
        let digits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard digits, !text.isEmpty else {
            self = .repeated
            return
        }
        let count = text.drop(while: { $0 == "0" })
        self = count.isEmpty ? .none : count == "1" ? .once : .repeated
    }
}

/// A country as two capital letters.
package struct CountryCode: Hashable, Sendable {
    package let text: String

    /// Nil for what is no country: other lengths, other characters, and `XX`, the unknown one.
    package init?(_ text: String) {
        let upper = text.uppercased()
        guard upper.utf8.count == 2, upper != "XX",
            upper.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return nil }
        self.text = upper
    }
}

/// Base caps, from the most particular to the most general.
package struct CapTable: Sendable, Equatable {
    package struct Place: Hashable, Sendable {
        package var app: AppID
        package var country: CountryCode

        package init(_ app: AppID, _ country: CountryCode) {
            self.app = app
            self.country = country
        }
    }

    package var places: [Place: FrequencyCaps] = [:]
    package var apps: [AppID: FrequencyCaps] = [:]
    package var countries: [CountryCode: FrequencyCaps] = [:]
    package var fleet: FrequencyCaps?

    package init() {}

    /// The base caps of an app, for people in a country if it is known.
    package func base(of app: AppID, in country: CountryCode? = nil) -> FrequencyCaps {
        let byPlace = country.flatMap { places[Place(app, $0)] }
        let byCountry = country.flatMap { countries[$0] }
        return byPlace ?? apps[app] ?? byCountry ?? fleet ?? .builtIn
    }
}
