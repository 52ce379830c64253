// The brake as feature flags: what each flag says of an app in a state, to a person. Pure.

import BrakeModel

/// A flag that OpenFeature clients can ask for.
enum Flag: String, CaseIterable, Sendable {
    case throttleState = "ad_throttle_state"
    /// Interstitial, app-open, rewarded interstitial.
    case interstitial = "ads_interstitial"
    /// Banner and native.
    case banner = "ads_banner"
    case rewarded = "ads_rewarded"
    case caps = "ad_caps"

    /// What the flag says. Throws when it takes a person to say it, and none is given.
    func evaluate(
        _ served: ServedState, caps: FrequencyCaps, for context: FlagContext
    ) throws(FlagFault) -> FlagAnswer {
        switch self {
        case .throttleState:
            return FlagAnswer(.text(served.state.name), variant: served.state.name, of: served)
        case .caps:
            return FlagAnswer(.caps(caps), variant: "\(caps.perHour)/\(caps.perDay)", of: served)
        case .banner: return FlagAnswer(served.state < .halt, of: served)
        case .rewarded:
            let isShown = served.state < .throttle || served.state == .throttle && context.isAsked
            return FlagAnswer(isShown, of: served)
        case .interstitial:
            guard served.state == .caution else {
                return FlagAnswer(served.state == .normal, of: served)
            }
            guard let person = context.person else {
                throw FlagFault(
                    .targetingKeyMissing,
                    "the app is in Caution, where it depends on the person; give the device as "
                        + "targetingKey")
            }
            var answer = FlagAnswer(CautionSample.allows(person, in: served.app), of: served)
            if answer.reason == "TARGETING_MATCH" { answer.reason = "SPLIT" }
            return answer
        }
    }
}

/// Who asks, and of which app.
struct FlagContext: Sendable {
    var app: AppID
    /// The targeting key: the device, or whatever stands for a person.
    var person: String?
    /// Whether the person asked for the ad.
    var isAsked = false
    var country: CountryCode?
    var annoyance = Annoyance.none
}

/// What a flag says.
struct FlagAnswer: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case text(String)
        case bool(Bool)
        case caps(FrequencyCaps)
    }

    var value: Value
    var variant: String
    /// A word of OpenFeature.
    var reason: String

    init(_ value: Value, variant: String, of served: ServedState) {
        self.value = value
        self.variant = variant
        // Without a record behind it, it is what holds while nothing is known.
        let isKnown = served.revision > 0 && served.cause != "expired"
        reason = !isKnown ? "DEFAULT" : served.isStale ? "STALE" : "TARGETING_MATCH"
    }

    init(_ value: Bool, of served: ServedState) {
        self.init(.bool(value), variant: value ? "on" : "off", of: served)
    }
}

/// Why a flag has no answer, as the protocol words it.
struct FlagFault: Error, Sendable, Equatable {
    enum Code: String, Sendable {
        case parseError = "PARSE_ERROR"
        case invalidContext = "INVALID_CONTEXT"
        case targetingKeyMissing = "TARGETING_KEY_MISSING"
        case flagNotFound = "FLAG_NOT_FOUND"
    }

    var code: Code
    var details: String

    init(_ code: Code, _ details: String) {
        self.code = code
        self.details = details
    }
}
