// Moments as other protocols write them.

/// Reads moments of RFC 3339, and numbers of seconds.
enum MomentText {
    /// ms since 1970 of `2026-01-31T23:59:59.123456Z`, with any offset; nil when it is none.
    static func milliseconds(_ text: String) -> Int64? {
        var rest = Array(text.utf8)[...]
        guard text.utf8.count <= 40, let year = number(&rest, 4), skip(&rest, "-"),
            let month = number(&rest, 2), skip(&rest, "-"), let day = number(&rest, 2),
            skip(&rest, "T") || skip(&rest, "t") || skip(&rest, " "),
            let hour = number(&rest, 2), skip(&rest, ":"), let minute = number(&rest, 2),
            skip(&rest, ":"), let second = number(&rest, 2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let fraction = fraction(&rest)
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        let inDay = (hour * 60 + minute - offset) * 60 + second
        return (days(year, month, day) * 86_400 + inDay) * 1_000 + fraction
    }

    /// ms since 1970 of a text, or of a number of seconds.
    static func milliseconds(_ value: JSONValue?) -> Int64? {
        if let text = value?.text { return milliseconds(text) }
        guard let seconds = value?.number, seconds > 0, seconds < 1e11 else { return nil }
        return Int64((seconds * 1_000).rounded())
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
        guard rest.count >= digits else { return nil }
        var number: Int64 = 0
        for byte in rest.prefix(digits) {
            guard isDigit(byte) else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(digits)
        return number
    }

    private static func skip(_ rest: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The first three digits after a point, in ms.
    private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Int64 {
        guard skip(&rest, ".") else { return 0 }
        let digits = rest.prefix(while: isDigit)
        rest = rest.dropFirst(digits.count)
        var milliseconds: Int64 = 0
        for index in 0..<3 {
            let digit = digits.dropFirst(index).first.map { $0 - UInt8(ascii: "0") } ?? 0
            milliseconds = milliseconds * 10 + Int64(digit)
        }
        return milliseconds
    }

    /// Minutes east of UTC; none is UTC.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        if rest.isEmpty || skip(&rest, "Z") || skip(&rest, "z") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard skip(&rest, "+") || skip(&rest, "-"), let hours = number(&rest, 2) else {
            return nil
        }
        _ = skip(&rest, ":")
        guard let minutes = number(&rest, 2) else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// Days since 1970 of a proleptic Gregorian date; years begin on 1 March, so that the leap day
    /// is the last one.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
