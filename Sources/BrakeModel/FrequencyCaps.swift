// How often an app may show ads, by app and country: the base that people set.

/// How many ads an hour and a day.
public struct FrequencyCaps: Sendable, Equatable {
    public var perHour: Int
    public var perDay: Int

    /// The most that a base may be.
    public static let perDayMax = 10_000

    /// What holds where nothing else is said.
    public static let builtIn = FrequencyCaps(perHour: 3, perDay: 8)
    /// While the state forbids ads between screens.
    public static let none = FrequencyCaps(perHour: 0, perDay: 0)

    /// Never negative.
    public init(perHour: Int, perDay: Int) {
        self.perHour = max(0, perHour)
        self.perDay = max(0, perDay)
    }
}

/// A country as two capital letters.
public struct CountryCode: Hashable, Comparable, Sendable {
    public let text: String

    /// Nil for what is no country: other lengths, other characters, and `XX`, the unknown one.
    public init?(_ text: String) {
        let upper = text.uppercased()
        guard upper.utf8.count == 2, upper != "XX",
            upper.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return nil }
        self.text = upper
    }

    /// The country of a number; nil for one that is none.
    public init?(number: UInt16) {
        guard CountryCode.isNumber(number) else { return nil }
        let bytes = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// The two letters as a number, in the same order as their texts.
    public var number: UInt16 { text.utf8.reduce(0) { $0 << 8 | UInt16($1) } }

    /// Whether there may be a country of this number.
    public static func isNumber(_ number: UInt16) -> Bool {
        let letters = UInt16(UInt8(ascii: "A"))...UInt16(UInt8(ascii: "Z"))
        return letters.contains(number >> 8) && letters.contains(number & 0xff)
            && number != 0x5858  // XX
    }

    public static func < (one: CountryCode, other: CountryCode) -> Bool { one.text < other.text }
}

/// Where base caps hold: an app in a country, an app, a country, or the fleet.
public struct CapPlace: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Every app.
    public static let fleet = CapPlace()

    /// Nil: every app.
    public var app: AppID?
    /// Nil: every country.
    public var country: CountryCode?

    public init(app: AppID? = nil, country: CountryCode? = nil) {
        self.app = app
        self.country = country
    }

    public var description: String { "\(app?.text ?? "*") in \(country?.text ?? "*")" }

    public static func < (one: CapPlace, other: CapPlace) -> Bool {
        (one.app?.text ?? "", one.country?.text ?? "")
            < (other.app?.text ?? "", other.country?.text ?? "")
    }
}

/// Base caps by place.
public struct CapTable: Sendable, Equatable {
    public var places: [CapPlace: FrequencyCaps] = [:]

    public init() {}

    /// The base caps of an app, for people in a country if it is known: those of the most
    /// particular place that has some. O(1).
    public func base(of app: AppID, in country: CountryCode? = nil) -> FrequencyCaps {
        if places.isEmpty { return .builtIn }
        let byPlace = country.flatMap { places[CapPlace(app: app, country: $0)] }
        let byCountry = country.flatMap { places[CapPlace(country: $0)] }
        return byPlace ?? places[CapPlace(app: app)] ?? byCountry ?? places[.fleet] ?? .builtIn
    }
}
