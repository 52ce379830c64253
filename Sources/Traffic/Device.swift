// Devices and sessions as compact rows: a fleet has up to a million of the one and many of the
// other.

import BrakeModel

/// A device with its clock, and what it has not yet reported.
struct Device: Sendable {
    /// In which unit its SDK writes times.
    enum TimeUnit: UInt8, Sendable {
        case milliseconds, seconds, microseconds, nanoseconds
    }

    var app: Int32
    /// How far its clock is ahead, ms.
    var clockOffset: Int32
    /// How much further it gets ahead, in millionths of the time that passes.
    var clockDrift: Int16
    var unit: TimeUnit
    /// Often without network.
    var isOftenOffline: Bool
    var isBusy = false
    /// Does nothing but loop, once its time has come.
    var isLooping = false
    /// Facts that wait for the next launch: a crash most of all.
    var waiting = FactList()

    init(app: Int, random: inout SeededGenerator) {
        self.app = Int32(app)
        isOftenOffline = random.chance(0.02)
        clockDrift = Int16(random.number(-200...200))
        clockOffset =
            switch random.index(100) {
            case ..<80: Int32(random.number(-1_500...1_500))
            case ..<90: Int32(random.number(-50_000...50_000))
            case ..<97: Int32(random.number(-1_800_000...1_800_000))
            // Set a day ahead, as players of some games do.
            default: Int32(86_400_000 + random.number(-60_000...60_000))
            }
        unit =
            switch random.index(100) {
            case ..<88: .milliseconds
            case ..<94: .seconds
            case ..<97: .microseconds
            default: .nanoseconds
            }
    }
}

/// One use of an app, from start to end or crash.
struct Session: Sendable {
    /// What the ad on screen or on its way does next.
    enum AdPhase: UInt8, Sendable {
        case request, answer, show, click, dismiss
    }

    enum Ending: UInt8, Sendable {
        /// The person leaves.
        case quiet
        /// A crash that is reported, sooner or later.
        case crash
        /// The app dies before it can even note that it does.
        case silent
    }

    static let never = Int64.max

    var device: Int32
    var app: Int32
    var number: UInt64
    /// When it started, ms since 1970 by a perfect clock.
    var startedAt: Int64
    var isForeground: Bool
    var isOffline: Bool
    var usesAds: Bool
    // World times.
    var aliveAt: Int64
    var adAt: Int64
    var uploadAt: Int64
    var endsAt: Int64
    var ending: Ending
    var crashKind: UInt8 = 0
    var trouble: UInt8 = 255
    var adPhase = AdPhase.request
    var adFormat = AdFormat.banner
    var adNetwork: UInt8 = 0
    /// Facts that wait for the next upload.
    var waiting = FactList()

    /// When there is something to do next.
    var nextAt: Int64 { min(min(aliveAt, adAt), min(uploadAt, endsAt)) }
}

/// Rows that are used again once free.
struct Slots<Row: Sendable>: Sendable {
    private var rows: ContiguousArray<Row> = []
    private var free: ContiguousArray<Int32> = []

    var count: Int { rows.count - free.count }

    mutating func add(_ row: Row) -> Int {
        if let index = free.popLast() {
            rows[Int(index)] = row
            return Int(index)
        }
        rows.append(row)
        return rows.count - 1
    }

    mutating func remove(_ index: Int) {
        free.append(Int32(index))
    }

    subscript(index: Int) -> Row {
        _read { yield rows[index] }
        _modify { yield &rows[index] }
    }
}
