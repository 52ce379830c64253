// What the evaluator keeps of each app in one place: 128 bytes, two cache lines.

import BrakeModel

/// What is counted of an app. Each has a row of panes, once there is something to count.
enum Metric: Int, CaseIterable {
    /// Once per session id, whether from a start or from a crash without one.
    case sessions
    case alive
    case impressions
    case softErrors
    case adFailures
    case signals
    /// Fatal crashes, once per event id, at the crash.
    case crashes
    /// Sessions that crashed, at the session's time.
    case crashedSessions
    /// Sessions that crashed, at the crash.
    case crashingSessions
    /// The part of `sessions` that came from a crash without a start.
    case orphanSessions
    /// Foreground starts that were repeats.
    case repeatedStarts
    /// Fatal crashes that were repeats.
    case repeatedCrashes

    static let count = 12

    /// Those that decisions are made of; the others are only reported.
    static let decisive: [Metric] = [
        .sessions, .alive, .crashes, .crashedSessions, .crashingSessions, .orphanSessions,
        .repeatedStarts, .repeatedCrashes,
    ]
}

/// An app. Counts are rows in the pool; what is rare lives in tables beside it. The fields stand in
/// an order that leaves no gap.
struct AppSlot: SlabElement {
    static let notDue = Int64.max
    static let noDevices = UInt32.max
    private static let touchedBit: UInt8 = 1
    private static let stressedBit: UInt8 = 2

    var appHash: UInt64 = 0
    /// The tick at which the calendar will look at it, or `notDue`.
    var due = AppSlot.notDue
    var brake = BrakeState()
    var nameLength: UInt8 = 0
    /// The place of its policy.
    var policy: UInt8 = 0
    private var flags: UInt8 = 0
    /// What an override has made of the state published last.
    var shape = Shape.none
    var rows = InlineArray<12, RowReference>(repeating: .none)
    var nameOffset: UInt32 = 0
    /// The second of the clock at its last event.
    var lastSecond: UInt32 = 0
    var revision: UInt32 = 0
    /// The place of its crashed devices.
    var devices = AppSlot.noDevices

    /// Whether something has been counted since its last look that may change its state.
    @inline(__always)
    var isTouched: Bool {
        get { flags & Self.touchedBit != 0 }
        set { flags = newValue ? flags | Self.touchedBit : flags & ~Self.touchedBit }
    }

    /// Whether its ads are counted by country, for its stress index.
    @inline(__always)
    var isStressed: Bool {
        get { flags & Self.stressedBit != 0 }
        set { flags = newValue ? flags | Self.stressedBit : flags & ~Self.stressedBit }
    }

    @inline(__always)
    subscript(metric: Metric) -> RowReference {
        get { rows[metric.rawValue] }
        set { rows[metric.rawValue] = newValue }
    }

    /// Whether nothing bad is in any of its windows.
    @inline(__always)
    var isClean: Bool {
        self[.crashes].isNone && self[.crashedSessions].isNone && self[.crashingSessions].isNone
            && self[.repeatedCrashes].isNone
    }
}
