// Facts into records: JSON bytes written straight away, since a fleet may have to write a hundred
// thousand a second.
internal import BrakeModel
internal import Runtime

/// Writes events of one fleet into the array of an upload.
struct RecordWriter: Sendable {
    private static let operatingSystems = ["Android 15", "iOS 18.2", "Android 14", "iOS 17.7"]
    private static let models = [
        "Pixel 9", "iPhone16,2", "Galaxy S24", "iPhone14,5", "Redmi Note 13", "iPad14,1",
    ]
    private static let countries = ["DE", "US", "BR", "IN", "FR", "JP", "ID", "PL"]
    private static let networks = ["acme-ads", "blue-bid", "corner", "demandly"]
    private static let crashKinds = ["exception", "signal", "oom", "anr", "watchdog", "launch"]
    private static let softErrors: [(severity: String, domain: String, code: Int)] = [
        ("warning", "network", 504), ("error", "storage", 28), ("info", "decode", 3),
    ]
    private static let signals = [
        "resign_during_ad", "memory_during_ad", "quit_after_ad", "slow_dismiss",
    ]
    static var networkCount: Int { networks.count }
    static var softErrorCount: Int { softErrors.count }
    /// Index of the kind of crash which happens at launch.
    static var launchKind: UInt8 { UInt8(crashKinds.count - 1) }
    static let quitAfterAd: UInt8 = 2
    static let slowDismiss: UInt8 = 3

    private let salt: UInt64
    private let start: Int64
    private let apps: [String]
    private let vendors: [String]
    private(set) var bytes: [UInt8] = []
    private(set) var events = 0

    init(settings: FleetSettings) {
        // Ids differ between runs of one seed at different times: a second run is not a repeat.
        salt = SeededGenerator.mixed(settings.seed ^ UInt64(bitPattern: settings.start))
        start = settings.start
        apps = settings.appIDs().map { ",\"app\":\"\($0.text)\"" }
        vendors = settings.scenario.troubles.map { trouble in
            guard case .adCrash(_, _, let vendor) = trouble.kind else { return "" }
            return vendor
        }
    }

    /// The hash that gives a device its id and its lasting traits.
    func identity(ofDevice device: Int) -> UInt64 {
        SeededGenerator.mixed(salt &+ 0x1_0000_0000 &+ UInt64(device))
    }

    /// Adds an event to the array, told by the device's clock when it is uploaded at `now`.
    mutating func add(
        _ fact: Fact, of device: Device, index: Int, build: String, now: Int64
    ) {
        append(bytes.isEmpty ? "[{\"type\":\"" : ",{\"type\":\"")
        append(fact.kind.type)
        append("\",\"id\":\"")
        hex(SeededGenerator.mixed(salt &+ fact.number))
        append("\"")
        append(apps[Int(device.app)])
        append(",\"session\":\"")
        hex(SeededGenerator.mixed(~salt &+ fact.session))
        let identity = identity(ofDevice: index)
        append("\",\"device\":\"")
        hex(identity)
        append("\",\"at\":")
        time(fact.at, of: device)
        append(",\"sent\":")
        time(now, of: device)
        append(",\"build\":\"")
        append(build)
        append("\",\"os\":\"")
        append(Self.operatingSystems[Int(identity & 3)])
        append("\",\"model\":\"")
        append(Self.models[Int((identity >> 8) % UInt64(Self.models.count))])
        append("\",\"country\":\"")
        append(Self.countries[Int((identity >> 16) & 7)])
        append("\"")
        addOwnFields(fact, of: device)
        append("}")
        events += 1
    }

    /// Ends the array and begins another.
    mutating func finish() -> FleetUpload {
        precondition(events > 0, "an upload brings something")
        append("]")
        let upload = FleetUpload(bytes: bytes, events: events)
        let capacity = bytes.count + bytes.count / 16
        bytes = []
        bytes.reserveCapacity(capacity)
        events = 0
        return upload
    }

    private mutating func addOwnFields(_ fact: Fact, of device: Device) {
        switch fact.kind {
        case .start: append(",\"phase\":\"start\",\"foreground\":true")
        case .backgroundStart: append(",\"phase\":\"start\",\"foreground\":false")
        case .alive: append(",\"phase\":\"alive\"")
        case .end: append(",\"phase\":\"end\"")
        case .crash, .nonFatal: addCrash(fact, of: device)
        case .softError:
            let error = Self.softErrors[Int(fact.detail)]
            append(",\"severity\":\"\(error.severity)\",\"domain\":\"\(error.domain)\"")
            append(",\"code\":\(error.code)")
        case .signal:
            append(",\"severity\":\"warning\",\"domain\":\"ads\",\"signal\":\"")
            append(Self.signals[Int(fact.detail)])
            append("\"")
        default: addAd(fact)
        }
    }

    private mutating func addCrash(_ fact: Fact, of device: Device) {
        append(fact.kind == .crash ? ",\"fatal\":true,\"kind\":\"" : ",\"fatal\":false,\"kind\":\"")
        append(Self.crashKinds[Int(fact.detail)])
        append("\",\"session_at\":")
        time(fact.sessionAt, of: device)
        guard fact.trouble < vendors.count, !vendors[Int(fact.trouble)].isEmpty else { return }
        append(",\"vendor\":")
        append(JSONText.quoted(vendors[Int(fact.trouble)]))
    }

    private mutating func addAd(_ fact: Fact) {
        append(",\"unit\":\"")
        append(fact.format.name)
        append("-1\",\"event\":\"")
        append(fact.kind.adEvent)
        append("\",\"format\":\"")
        append(fact.format.name)
        append("\",\"network\":\"")
        append(Self.networks[Int(fact.network)])
        append("\"")
        if fact.kind == .adLoadFailed || fact.kind == .adShowFailed {
            append(",\"error_code\":")
            append(AdError(fact).json)
        }
        if fact.kind == .adDismissed {
            append(",\"dismiss_delay_ms\":")
            decimal(UInt64(fact.dismissDelay), digits: 1)
        }
        if let state = ThrottleState(rawValue: fact.state) {
            append(",\"state\":\"")
            append(state.name)
            append("\",\"revision\":")
            decimal(UInt64(clamping: fact.revision), digits: 1)
        }
    }

    /// A moment as the device's clock and SDK tell it.
    private mutating func time(_ moment: Int64, of device: Device) {
        let drift = (moment - start) * Int64(device.clockDrift) / 1_000_000
        let told = UInt64(clamping: moment + Int64(device.clockOffset) + drift)
        switch device.unit {
        case .milliseconds: decimal(told, digits: 1)
        case .seconds:
            decimal(told / 1_000, digits: 1)
            append(".")
            decimal(told % 1_000, digits: 3)
        case .microseconds: decimal(told * 1_000, digits: 1)
        case .nanoseconds: decimal(told * 1_000_000, digits: 1)
        }
    }

    @inline(__always)
    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// 16 hexadecimal digits.
    private mutating func hex(_ number: UInt64) {
        let digits = InlineArray<16, UInt8> { index in
            let nibble = UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * index)) & 15
            return nibble < 10 ? nibble + UInt8(ascii: "0") : nibble - 10 + UInt8(ascii: "a")
        }
        for index in digits.indices { bytes.append(digits[index]) }
    }

    /// The number with at least so many digits.
    private mutating func decimal(_ number: UInt64, digits least: Int) {
        // 20 digits hold every number of 64 bits.
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
        var rest = number
        var index = 20
        while rest > 0 || index > 20 - least {
            index -= 1
            digits[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        while index < 20 {
            bytes.append(digits[index])
            index += 1
        }
    }
}

extension FactKind {
    /// The record's `type`.
    fileprivate var type: String {
        switch self {
        case .start, .backgroundStart, .alive, .end: "session"
        case .crash, .nonFatal: "crash"
        case .softError, .signal: "soft_error"
        default: "ad_event"
        }
    }

    /// The ad event's `event`.
    fileprivate var adEvent: String {
        switch self {
        case .adRequest: "request"
        case .adLoaded: "loaded"
        case .adLoadFailed: "load_failed"
        case .adShown: "shown"
        case .adShowFailed: "show_failed"
        case .adClicked: "clicked"
        default: "dismissed"
        }
    }
}
