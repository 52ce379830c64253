// The clocks of devices: a number whose size tells its unit, made into whole milliseconds.

internal import BrakeModel
internal import CSimdJSON

/// A device time in milliseconds since 1970, `Event.noTime` when there is none, and whether it had
/// another unit.
package struct DeviceTime: Equatable, Sendable, BitwiseCopyable {
    static let absent = DeviceTime()

    /// Times beyond it are brought back to it: far in the future is far enough.
    package static let millisecondsMax: Int64 = 1 << 53

    static let secondsBelow: UInt64 = 100_000_000_000
    static let millisecondsBelow: UInt64 = 100_000_000_000_000
    static let microsecondsBelow: UInt64 = 100_000_000_000_000_000

    package var milliseconds: Int64
    package var isConverted: Bool

    private init() {
        milliseconds = Event.noTime
        isConverted = false
    }

    /// A whole number of whatever unit its size tells. Exact, half a millisecond rounds up.
    @inline(__always)
    package init(_ value: UInt64) {
        if value >= DeviceTime.secondsBelow && value < DeviceTime.millisecondsBelow {
            milliseconds = Int64(truncatingIfNeeded: value)
            isConverted = false
            return
        }
        isConverted = true
        // All results are below 2^53: 1e11 s are 1e14 ms, and 2^64 ns are 1.9e13 ms.
        if value < DeviceTime.secondsBelow {
            milliseconds = Int64(value * 1_000)
        } else if value < DeviceTime.microsecondsBelow {
            milliseconds = Int64((value + 500) / 1_000)
        } else {
            milliseconds = Int64(value / 1_000_000) + (value % 1_000_000 >= 500_000 ? 1 : 0)
        }
    }

    /// A positive finite number with a fraction or an exponent. Half a millisecond rounds up.
    package init(_ value: Double) {
        let milliseconds: Double
        isConverted = true
        if value < Double(DeviceTime.secondsBelow) {
            milliseconds = value * 1_000
        } else if value < Double(DeviceTime.millisecondsBelow) {
            milliseconds = value
            isConverted = false
        } else if value < Double(DeviceTime.microsecondsBelow) {
            milliseconds = value / 1_000
        } else {
            milliseconds = value / 1_000_000
        }
        let rounded = milliseconds.rounded(.toNearestOrAwayFromZero)
        self.milliseconds =
            rounded < Double(DeviceTime.millisecondsMax)
            ? Int64(rounded) : DeviceTime.millisecondsMax
    }

    /// A field of a record.
    @inline(__always)
    init(_ slice: JSONSlice) throws(Rejection) {
        switch slice.kind {
        case BRAKE_JSON_INTEGER:
            // The parser sets `integer` with this kind.
            let value = slice.integer
            guard value > 0 else { throw .badTime }
            self.init(value)
        case BRAKE_JSON_REAL:
            let value = slice.real
            guard value.isFinite && value > 0 else { throw .badTime }
            self.init(value)
        case BRAKE_JSON_ABSENT, BRAKE_JSON_NULL: self = .absent
        default: throw .badTime
        }
    }

    /// The start of the session that crashed: a number that is not positive comes from a device
    /// which does not know the time, and must not lose the crash.
    init(sessionStart slice: JSONSlice) throws(Rejection) {
        switch slice.kind {
        case BRAKE_JSON_NEGATIVE: self = .absent
        case BRAKE_JSON_INTEGER where slice.integer == 0: self = .absent
        case BRAKE_JSON_REAL where slice.real <= 0: self = .absent
        default: try self.init(slice)
        }
    }
}
