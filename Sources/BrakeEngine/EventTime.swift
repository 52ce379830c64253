// When an event happened, given what the device's clock says and when the log took the record.

import BrakeModel

/// An event's time on the log's clock, and how it was corrected. Times are ms since 1970.
package struct EventTime: Equatable {
    /// A slower delivery than this is no proof of a wrong clock, but a larger difference between
    /// the log's clock and the device's at the upload is.
    static let driftMilliseconds: Int64 = 60_000
    /// A device time beyond the log's by more than this is counted as `future`.
    static let futureMilliseconds: Int64 = 60_000

    /// E, never after the append time.
    package var time: Int64
    /// The device's clock was off and the time was shifted.
    var isShifted = false
    /// It lay in the future, by more than a minute.
    var isFuture = false

    /// E of a device time.
    @inline(__always)
    package init(at: Int64, sent: Int64, append: Int64) {
        guard at != Event.noTime else {
            time = append
            return
        }
        let drift = Self.drift(sent: sent, append: append)
        time = at + drift
        isShifted = drift != 0
        if time > append {
            isFuture = time - append > Self.futureMilliseconds
            time = append
        }
    }

    /// By how much the device's clock was off at the upload; 0 when that is not known, or no more
    /// than a slow delivery explains. Device times are within +-2^53, so no sum overflows.
    @inline(__always)
    package static func drift(sent: Int64, append: Int64) -> Int64 {
        guard sent != Event.noTime else { return 0 }
        let drift = append - sent
        return abs(drift) >= driftMilliseconds ? drift : 0
    }
}
