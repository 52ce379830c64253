// How much the ads of an app annoy people, by country: what the evaluator tells the edges.

/// What was counted of ads in some time. Sums that are full stay full.
public struct StressCounts: Sendable, Equatable, BitwiseCopyable {
    public var impressions: Int64 = 0
    /// Signals of annoyance.
    public var signals: Int64 = 0
    /// Dismissals that told their delay.
    public var dismissals: Int64 = 0
    /// Of all of them together, ms.
    public var delay: Int64 = 0

    public init() {}

    public var isEmpty: Bool { self == StressCounts() }

    /// Signals per thousand impressions; nil without any impression.
    public var perThousand: Double? {
        impressions > 0 ? Double(signals) * 1_000 / Double(impressions) : nil
    }

    /// The mean delay of a dismissal, ms; nil without any.
    public var dismissMilliseconds: Int64? { dismissals > 0 ? delay / dismissals : nil }

    public static func += (one: inout StressCounts, other: StressCounts) {
        one.impressions = sum(one.impressions, other.impressions)
        one.signals = sum(one.signals, other.signals)
        one.dismissals = sum(one.dismissals, other.dismissals)
        one.delay = sum(one.delay, other.delay)
    }

    private static func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let (sum, isFull) = one.addingReportingOverflow(other)
        return isFull ? .max : sum
    }
}

/// The stress of an app, in one country or in all together.
public struct StressPlace: Sendable, Equatable {
    /// Nil: all countries, and people whose country is not known.
    public var country: CountryCode?
    public var hour: StressCounts
    public var day: StressCounts
    /// Caps are those of a person with so many recent non-fatal errors, 0 ... 2, if not stricter.
    public var nonFatals: Int
    /// The rule of the policy that tightens them, nil when none does.
    public var rule: String?

    public init(
        country: CountryCode?, hour: StressCounts, day: StressCounts, nonFatals: Int = 0,
        rule: String? = nil
    ) {
        self.country = country
        self.hour = hour
        self.day = day
        self.nonFatals = nonFatals
        self.rule = rule
    }

    /// By what the mean delay of the hour exceeds that of the day, as a quotient: above 1 people
    /// take longer than they did to get rid of ads. Nil when either is undefined or 0.
    public var dismissTrend: Double? {
        guard hour.dismissals > 0, day.dismissals > 0, day.delay > 0 else { return nil }
        return Double(hour.delay) * Double(day.dismissals)
            / (Double(hour.dismissals) * Double(day.delay))
    }
}

/// The stress of an app at a clock.
public struct StressIndex: Sendable, Equatable {
    /// The most countries that are told one by one: those with the most impressions in the day.
    public static let countriesMax = 40
    /// A record that the evaluator has left so far behind counts no more, ms.
    public static let validMilliseconds: Int64 = 2 * 3_600_000

    public var app: AppID
    /// The tick, ms since 1970.
    public var clock: Int64
    public var all: StressPlace
    /// In the order of their codes.
    public var countries: [StressPlace]

    public init(app: AppID, clock: Int64, all: StressPlace, countries: [StressPlace]) {
        self.app = app
        self.clock = clock
        self.all = all
        self.countries = countries
    }

    /// What holds for people in a country: all of them together where it is not told by itself.
    public func place(of country: CountryCode?) -> StressPlace {
        country.flatMap { code in countries.first { $0.country == code } } ?? all
    }
}
