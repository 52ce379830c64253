// Who may come in, and how fast.
import HTTPServer
import Runtime

/// A sender that has been let in.
struct Pass: Sendable {
    var grant: CollectorKeys.Grant
    /// Its key, empty where none is needed: it tells senders apart and is shown to nobody.
    var key: String
    fileprivate var address: String
    fileprivate var rate: Int
}

/// Checks keys and rates.
struct Gatekeeper: Sendable {
    private let keys: @Sendable () -> CollectorKeys?
    private let settings: CollectSettings
    private let byKey = RateLimits()
    private let byAddress = RateLimits()
    private let clocks: Clocks

    init(
        keys: @escaping @Sendable () -> CollectorKeys?, _ settings: CollectSettings,
        _ clocks: Clocks
    ) {
        self.keys = keys
        self.settings = settings
        self.clocks = clocks
    }

    struct Denial: Error {
        var response: Response
    }

    /// Lets a request in by its key, nil for none.
    func pass(_ request: Request, key: String?) -> Result<Pass, Denial> {
        var grant = CollectorKeys.Grant(scope: .all)
        var known = ""
        if let keys = keys() {
            guard let key, !key.isEmpty else {
                return .failure(Self.unknown("no_key", "there is no app key"))
            }
            guard let found = keys.grant(of: key) else {
                return .failure(Self.unknown("unknown_key", "the app key is not known"))
            }
            (grant, known) = (found, key)
        }
        let rate = known.isEmpty ? 0 : grant.rate ?? settings.keyRate
        return .success(
            Pass(
                grant: grant, key: known, address: ClientAddress.group(request.remoteAddress),
                rate: rate))
    }

    /// Why a sender whose key is not there yet has to wait; nil: it need not.
    func refusal(ofStranger request: Request) -> Response? {
        let address = ClientAddress.group(request.remoteAddress)
        return refusal(
            Pass(
                grant: CollectorKeys.Grant(scope: .apps([])), key: "", address: address, rate: 0))
    }

    /// Why a sender that was let in has to wait; nil: it need not. Takes note of one event.
    func refusal(_ pass: Pass) -> Response? {
        let now = clocks.monotonicNanoseconds()
        if let seconds = byKey.wait(pass.key, rate: pass.rate, now: now) {
            return Self.tooFast("key_rate", "the key has brought too many events", seconds)
        }
        if let seconds = byAddress.wait(pass.address, rate: settings.addressRate, now: now) {
            return Self.tooFast("address_rate", "too many events from this address", seconds)
        }
        charge(pass, events: 1, now: now)
        return nil
    }

    /// Takes note of what an upload has brought, beyond the one event of its admission.
    func charge(_ pass: Pass, events: Int) {
        charge(pass, events: events - 1, now: clocks.monotonicNanoseconds())
    }

    private func charge(_ pass: Pass, events: Int, now: Int64) {
        byKey.charge(pass.key, events: events, rate: pass.rate, now: now)
        byAddress.charge(pass.address, events: events, rate: settings.addressRate, now: now)
    }

    private static func unknown(_ reason: StaticString, _ text: String) -> Denial {
        Denial(
            response: Response.error(
                401, reason: reason, text, hint: "Send the app key as `Authorization: Bearer KEY`."
            ).with("WWW-Authenticate", "Bearer"))
    }

    private static func tooFast(
        _ reason: StaticString, _ text: String, _ seconds: Int
    ) -> Response {
        Response.error(
            429, reason: reason, text, hint: "Nothing of this upload was used: send it later."
        ).with("Retry-After", "\(seconds)")
    }
}
