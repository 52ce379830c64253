// One event as the reference understands it: DESIGN section 3 (which fields, what is rejected) and
// section 4 (event time E).

struct ReferenceRecord {
    /// What it means to the counts; `other` only makes the app known.
    enum Meaning: Equatable {
        case start, alive, crash, softError(isSignal: Bool), impression, adFailure, other
        /// Of an ad, with its delay in ms.
        case dismissal(Int)
    }

    let type: String
    let app: String
    let meaning: Meaning
    /// A, the append time.
    let append: Int64
    /// E, the event time.
    let time: Int64
    /// The session's time, for crashes: `session_at` corrected like `at`, if given and not after
    /// the crash, else E.
    let sessionTime: Int64
    let id: String?
    let session: String?
    let device: String?
    /// How many ad events it stands for.
    let count: Int
    /// Two capital letters.
    let country: String?

    /// The events of a record's value, without those that are rejected.
    static func events(of value: JSONText, append: Int64) -> [ReferenceRecord] {
        guard let elements = value.array else {
            return [ReferenceRecord(value, append: append)].compactMap { $0 }
        }
        guard elements.count <= 1_000 else { return [] }
        var events: [ReferenceRecord] = []
        for element in elements {
            guard let event = ReferenceRecord(element, append: append) else { continue }
            // An array holds events of one type and one app: those of its first good event.
            if let first = events.first, first.app != event.app || first.type != event.type {
                continue
            }
            events.append(event)
        }
        return events
    }

    /// The event in a value, nil if it is rejected.
    init?(_ value: JSONText, append: Int64) {
        guard let type = value["type"]?.string, let app = value["app"]?.string,
            Self.isAppID(app), Self.hasGoodFields(value),
            let meaning = Self.meaning(of: value, type: type)
        else { return nil }
        self.type = type
        self.app = app
        self.append = append
        self.meaning = meaning
        id = value["id"]?.string
        session = value["session"]?.string
        device = value["device"]?.string
        guard let count = Self.count(of: value, type: type) else { return nil }
        self.count = count
        country = value["country"]?.string.flatMap(Self.country)

        var at: Int64?
        var drift: Int64 = 0
        if let field = value["at"] {
            guard let milliseconds = ReferenceTime.milliseconds(field) else { return nil }
            at = milliseconds
        }
        if let field = value["sent"] {
            guard let sent = ReferenceTime.milliseconds(field) else { return nil }
            if abs(append - sent) >= 60_000 { drift = append - sent }
        }
        let time = min(at.map { $0 + drift } ?? append, append)
        self.time = time
        if let field = value["session_at"], let sessionAt = ReferenceTime.milliseconds(field) {
            let corrected = min(sessionAt + drift, append)
            sessionTime = corrected <= time ? corrected : time
        } else {
            sessionTime = time
        }
    }

    private static func country(_ text: String) -> String? {
        let code = text.uppercased()
        let isCode = code.count == 2 && code.allSatisfy { ("A"..."Z").contains($0) }
        return isCode && code != "XX" ? code : nil
    }

    private static let allowedInApp = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8)

    private static func isAppID(_ app: String) -> Bool {
        (1...64).contains(app.utf8.count) && app.utf8.allSatisfy(allowedInApp.contains)
    }

    /// Whether what is there has the right JSON type and length.
    private static func hasGoodFields(_ value: JSONText) -> Bool {
        for key in ["id", "session", "device"] {
            guard let field = value[key] else { continue }
            guard let text = field.string, text.unicodeScalars.count <= 64 else { return false }
        }
        for key in ["phase", "signal", "event", "error_code"] {
            if let field = value[key], field.string == nil { return false }
        }
        for key in ["foreground", "fatal"] {
            if let field = value[key], field.bool == nil { return false }
        }
        if let field = value["session_at"], field.double == nil { return false }
        return true
    }

    /// A whole number from one to a million; one for what has none, nil for anything else.
    private static func count(of value: JSONText, type: String) -> Int? {
        guard type == "ad_event", let field = value["count"] else { return 1 }
        guard let number = field.double, number == number.rounded(), (1...1_000_000) ~= number
        else { return nil }
        return Int(number)
    }

    private static func meaning(of value: JSONText, type: String) -> Meaning? {
        switch type {
        case "session":
            switch value["phase"]?.string ?? "start" {
            case "start": return value["foreground"]?.bool ?? true ? .start : .other
            case "alive": return .alive
            default: return .other
            }
        case "crash":
            return value["fatal"]?.bool ?? true ? .crash : .other
        case "soft_error":
            let signals = ["resign_during_ad", "memory_during_ad", "quit_after_ad", "slow_dismiss"]
            return .softError(isSignal: signals.contains(value["signal"]?.string ?? ""))
        case "ad_event":
            let excused = ["no_fill", "offline"].contains(value["error_code"]?.string ?? "")
            switch value["event"]?.string {
            case "shown": return .impression
            case "dismissed":
                guard let delay = value["dismiss_delay_ms"]?.double, delay >= 0 else {
                    return .other
                }
                return .dismissal(Int(min(delay, 600_000)))
            case "load_failed", "show_failed": return excused ? .other : .adFailure
            default: return .other
            }
        default: return nil
        }
    }
}

/// Device times in any unit, to milliseconds.
enum ReferenceTime {
    /// A time in ms since 1970, nil if it is not a finite positive number. Whole numbers stay
    /// whole; halves of a millisecond are rounded up.
    static func milliseconds(_ field: JSONText) -> Int64? {
        guard case .number(let text) = field else { return nil }
        if let whole = UInt64(text) {
            guard whole > 0 else { return nil }
            if whole < 100_000_000_000 { return Int64(whole * 1_000) }
            if whole < 100_000_000_000_000 { return Int64(whole) }
            if whole < 100_000_000_000_000_000 {
                return Int64(whole / 1_000 + (whole % 1_000 >= 500 ? 1 : 0))
            }
            return Int64(whole / 1_000_000 + (whole % 1_000_000 >= 500_000 ? 1 : 0))
        }
        guard let number = Double(text), number.isFinite, number > 0 else { return nil }
        let scaled =
            number < 1e11
            ? number * 1_000 : number < 1e14 ? number : number < 1e17 ? number / 1e3 : number / 1e6
        // Far beyond any append time all the same: no need to be exact, only not to overflow.
        return Int64(min(scaled.rounded(.toNearestOrAwayFromZero), 4e18))
    }
}
