// A policy: what should hold for an app, and what to do when it does not.

package import BrakeModel

/// The rules by which an app moves between the four states. A value; decoded and validated from a
/// document by BrakeWire. Times are in the unit of their name.
package struct Policy: Sendable, Equatable {
    /// What the crash-free rate is made of.
    package enum Counting: Sendable, Equatable {
        /// Distinct sessions: crashed ones against all.
        case sessions
        /// All crash records against all start records, without any dedupe. The rate of a window
        /// without sessions is `emptyRate`.
        case events(emptyRate: Double)
    }

    /// How fast an app enters a stricter state.
    package enum Entry: Sendable, Equatable {
        /// At once.
        case jump
        /// One level a tick.
        case step
    }

    package var name: String
    package var version: Int
    /// Decisions are made at the multiples of this, 100 ... 3 600 000.
    package var tickMilliseconds: Int64
    package var counting: Counting
    /// The state of a new app.
    package var initial: ThrottleState
    /// While a new app has never changed, so long without an unhealthy rule makes it Normal.
    package var initialHoldSeconds: Int64
    package var entry: Entry
    /// Of the Wilson interval, within 0 ..< 1; nil: rules look at the rate alone.
    package var confidence: Double? { didSet { deriveQuantile() } }
    package var rules: [Rule]
    package var caution: Level
    package var throttle: Level
    package var halt: Level
    /// An entry so soon after an easing is a relapse and doubles every dwell.
    package var relapseSeconds: Int64
    /// The longest dwell that relapses can lead to.
    package var dwellMaxSeconds: Int64
    package var silence: Silence?
    package var launch: Launch?
    /// What tightens caps; none: nothing does.
    package var stress: [StressRule] = []
    /// The normal quantile that belongs to `confidence`.
    package private(set) var quantile: Double?

    package init(
        name: String, version: Int, tickMilliseconds: Int64, counting: Counting,
        initial: ThrottleState, initialHoldSeconds: Int64, entry: Entry, confidence: Double?,
        rules: [Rule], caution: Level, throttle: Level, halt: Level, relapseSeconds: Int64,
        dwellMaxSeconds: Int64, silence: Silence?, launch: Launch?
    ) {
        self.name = name
        self.version = version
        self.tickMilliseconds = tickMilliseconds
        self.counting = counting
        self.initial = initial
        self.initialHoldSeconds = initialHoldSeconds
        self.entry = entry
        self.confidence = confidence
        self.rules = rules
        self.caution = caution
        self.throttle = throttle
        self.halt = halt
        self.relapseSeconds = relapseSeconds
        self.dwellMaxSeconds = dwellMaxSeconds
        self.silence = silence
        self.launch = launch
        deriveQuantile()
    }

    private mutating func deriveQuantile() {
        quantile = confidence.map { NormalQuantile.twoSided(confidence: $0) }
    }

    /// The level of a state; Normal has none that could ease.
    package func level(of state: ThrottleState) -> Level {
        switch state {
        case .halt: halt
        case .throttle: throttle
        case .caution, .normal: caution
        }
    }

    /// The first tick at or after a time.
    package func tick(notBefore time: Int64) -> Int64 {
        let (quotient, remainder) = time.quotientAndRemainder(dividingBy: tickMilliseconds)
        return (remainder > 0 ? quotient + 1 : quotient) * tickMilliseconds
    }

    /// The first tick after a time.
    package func tick(after time: Int64) -> Int64 { tick(notBefore: time + 1) }
}

/// One of the three windows.
package enum WindowShape: Int, Sendable, CaseIterable, BitwiseCopyable {
    case minute = 0
    case tenMinutes = 1
    case hour = 2

    /// Its length: 60, 600 or 3600.
    package var seconds: Int {
        switch self {
        case .minute: 60
        case .tenMinutes: 600
        case .hour: 3600
        }
    }

    /// The step by which it moves: 1, 10 or 60.
    package var paneSeconds: Int64 {
        switch self {
        case .minute: 1
        case .tenMinutes: 10
        case .hour: 60
        }
    }

    /// The window of this length, nil for any other.
    package init?(seconds: Int) {
        guard let shape = Self.allCases.first(where: { $0.seconds == seconds }) else { return nil }
        self = shape
    }
}

/// Calls for a state when a window is unhealthy.
package struct Rule: Sendable, Equatable {
    package enum Condition: Sendable, Equatable {
        /// The crash-free rate is below this limit, which lies within 0 ... 1.
        case crashFreeBelow(Double)
        /// So many crashes or more; at least 1.
        case crashesAtLeast(Int)
    }

    package var name: String
    package var state: ThrottleState
    package var window: WindowShape
    package var condition: Condition
    package var minSessions: Int
    package var minDevices: Int

    package init(
        name: String, state: ThrottleState, window: WindowShape, condition: Condition,
        minSessions: Int = 0, minDevices: Int = 0
    ) {
        self.name = name
        self.state = state
        self.window = window
        self.condition = condition
        self.minSessions = minSessions
        self.minDevices = minDevices
    }
}

/// How a state is left for the next looser one.
package struct Level: Sendable, Equatable {
    /// How long all must have been calm; 0: at the first calm tick.
    package var dwellSeconds: Int64
    /// What a window must show besides; nil: nothing.
    package var recover: Recovery?

    package init(dwellSeconds: Int64 = 0, recover: Recovery? = nil) {
        self.dwellSeconds = dwellSeconds
        self.recover = recover
    }
}

/// Enough sessions in a window, with a rate that is good enough.
package struct Recovery: Sendable, Equatable {
    package var window: WindowShape
    package var atLeast: Double
    package var minSessions: Int

    package init(window: WindowShape, atLeast: Double, minSessions: Int) {
        self.window = window
        self.atLeast = atLeast
        self.minSessions = minSessions
    }
}

/// When an app has fallen silent: its sessions of ten minutes are below a share of what its
/// hour would let expect. Silence is never health.
package struct Silence: Sendable, Equatable {
    package var share: Double
    /// The least sessions of an hour that let expect anything.
    package var baseline: Int

    package init(share: Double, baseline: Int) {
        self.share = share
        self.baseline = baseline
    }
}

/// When sessions start but show no sign of life though they used to.
package struct Launch: Sendable, Equatable {
    package var aliveBelow: Double
    package var baseline: Double
    package var minSessions: Int
    package var state: ThrottleState

    package init(aliveBelow: Double, baseline: Double, minSessions: Int, state: ThrottleState) {
        self.aliveBelow = aliveBelow
        self.baseline = baseline
        self.minSessions = minSessions
        self.state = state
    }
}

/// Tightens the caps of an app in a country, when its ads annoy people there.
package struct StressRule: Sendable, Equatable {
    package enum Window: Sendable, Equatable {
        case hour
        case day
    }

    package enum Condition: Sendable, Equatable {
        /// So many signals per thousand impressions or more.
        case signalsPerThousandAtLeast(Double, Window)
        /// The mean delay of dismissals in the hour is so many times that of the day, or more.
        case dismissTrendAtLeast(Double)
    }

    package var name: String
    package var condition: Condition
    /// Of the window; of the hour for a trend.
    package var minImpressions: Int
    /// Caps become those of a person with so many recent non-fatal errors, 1 or 2.
    package var nonFatals: Int

    package init(name: String, condition: Condition, minImpressions: Int, nonFatals: Int) {
        self.name = name
        self.condition = condition
        self.minImpressions = minImpressions
        self.nonFatals = nonFatals
    }
}
