// What the evaluator publishes: a change of an app's state with its reason, and notices for people.

/// Counts of one window at a clock, with the rate they give.
public struct WindowCounts: Sendable, Equatable, BitwiseCopyable {
    /// The window's length in seconds: 60, 600 or 3600.
    public var windowSeconds: Int
    public var sessions: Int
    public var crashes: Int
    /// Sessions of this window that crashed, now or later.
    public var crashedSessions: Int
    /// Sessions that crashed in this window.
    public var crashingSessions: Int
    /// Distinct devices among the crashes; counting stops at 4096.
    public var crashedDevices: Int
    public var softErrors: Int
    public var alive: Int
    public var impressions: Int
    public var adFailures: Int
    public var signals: Int
    /// The crash-free rate, nil when it is undefined.
    public var rate: Double?
    /// The lower end of the rate's interval, nil without a confidence or without sessions.
    public var low: Double?
    /// The upper end of the rate's interval, nil without a confidence or without sessions.
    public var high: Double?
    public var sample: SampleVerdict

    /// Makes the counts of a window in which nothing has been counted.
    public init(windowSeconds: Int) {
        self.windowSeconds = windowSeconds
        sessions = 0
        crashes = 0
        crashedSessions = 0
        crashingSessions = 0
        crashedDevices = 0
        softErrors = 0
        alive = 0
        impressions = 0
        adFailures = 0
        signals = 0
        sample = .insufficient
    }
}

/// Whether a window's sample can bear a decision.
public enum SampleVerdict: UInt8, Sendable, BitwiseCopyable {
    /// Fewer sessions or devices than a rule or a recovery on this window asks for.
    case insufficient
    case sufficient
    /// More crashes than sessions: the rate was clamped, so the reports are not of good quality.
    case anomalous

    /// The word used in topics and documents.
    public var name: String {
        switch self {
        case .insufficient: "insufficient"
        case .sufficient: "sufficient"
        case .anomalous: "anomalous"
        }
    }
}

/// The reason of a change: the clock, the rule, and what every window held.
public struct Why: Sendable, Equatable {
    /// The tick, ms since 1970.
    public var clock: Int64
    /// The name of the rule, nil when no rule called for the change.
    public var rule: String?
    /// The windows of 60, 600 and 3600 seconds, in this order.
    public var windows: [WindowCounts]

    public init(clock: Int64, rule: String?, windows: [WindowCounts]) {
        self.clock = clock
        self.rule = rule
        self.windows = windows
    }
}

/// A change of an app's published state.
public struct ThrottleChange: Sendable, Equatable {
    public var app: AppID
    public var state: ThrottleState
    /// The tick at which this state began, ms since 1970.
    public var since: Int64
    /// Rises by one at each change of the app, for ever; 1 is the first record.
    public var revision: Int64
    /// The name of the policy that decided.
    public var policy: String
    public var cause: ThrottleCause
    public var why: Why
    /// The override that has made the state what it is, nil when it is as computed.
    public var override: Override?
    /// What the policy had computed.
    public var computed: ThrottleState

    /// Without a computed state that is the state itself.
    public init(
        app: AppID, state: ThrottleState, since: Int64, revision: Int64, policy: String,
        cause: ThrottleCause, why: Why, override: Override? = nil, computed: ThrottleState? = nil
    ) {
        self.app = app
        self.state = state
        self.since = since
        self.revision = revision
        self.policy = policy
        self.cause = cause
        self.why = why
        self.override = override
        self.computed = computed ?? state
    }
}

/// What a person should know.
public struct Notice: Sendable, Equatable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case silenceBegan
        case silenceEnded
        case launchFailure
        case policyRejected
        case overrideExpired
        case overruled

        /// The word used in topics and documents.
        public var name: String {
            switch self {
            case .silenceBegan: "silence_began"
            case .silenceEnded: "silence_ended"
            case .launchFailure: "launch_failure"
            case .policyRejected: "policy_rejected"
            case .overrideExpired: "override_expired"
            case .overruled: "overruled"
            }
        }
    }

    public var kind: Kind
    /// The app it is about, nil for the whole fleet.
    public var app: AppID?
    /// The tick, ms since 1970.
    public var clock: Int64
    /// One sentence for a person.
    public var text: String

    public init(kind: Kind, app: AppID?, clock: Int64, text: String) {
        self.kind = kind
        self.app = app
        self.clock = clock
        self.text = text
    }
}
