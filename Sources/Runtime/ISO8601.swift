// Moments as people write them: 2026-01-31T23:59:59.999Z. Always UTC, so no time zone data.

/// Text of moments in UTC with ms.
package enum ISO8601 {
    /// The text of a moment given in ms since 1970, for years 0 to 9999.
    package static func text(milliseconds: Int64) -> String {
        let days = floorDivide(milliseconds, 86_400_000)
        let inDay = milliseconds - days * 86_400_000
        let (year, month, day) = civil(daysSince1970: days)
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T"
            + padded(inDay / 3_600_000, 2) + ":" + padded(inDay / 60_000 % 60, 2) + ":"
            + padded(inDay / 1_000 % 60, 2) + "." + padded(inDay % 1_000, 3) + "Z"
    }

    /// The proleptic Gregorian date. Counting years from 1 March puts the leap day last, so that
    /// the months before it have fixed lengths: 153 days each five.
    private static func civil(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let sinceEra = daysSince1970 + 719_468
        let era = floorDivide(sinceEra, 146_097)
        let dayOfEra = sinceEra - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
