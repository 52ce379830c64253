// The four states an app can be in, from least to most severe.

/// What holds for an app's ads. Ordered by severity: Normal is the loosest, Halt the strictest.
public enum ThrottleState: UInt8, Sendable, CaseIterable, Comparable, BitwiseCopyable {
    case normal = 0
    case caution = 1
    case throttle = 2
    case halt = 3

    /// 0 for Normal to 3 for Halt.
    public var severity: Int { Int(rawValue) }

    /// The word used in policies, topics and documents: `Normal`, `Caution`, `Throttle`, `Halt`.
    public var name: String {
        switch self {
        case .normal: "Normal"
        case .caution: "Caution"
        case .throttle: "Throttle"
        case .halt: "Halt"
        }
    }

    /// The state with exactly this name, nil for any other word.
    public init?(name: some StringProtocol) {
        guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }

    /// The next looser state; Normal stays Normal.
    public var eased: ThrottleState { ThrottleState(rawValue: rawValue &- 1) ?? .normal }

    /// The next stricter state; Halt stays Halt.
    public var raised: ThrottleState { ThrottleState(rawValue: rawValue + 1) ?? .halt }

    public static func < (one: ThrottleState, other: ThrottleState) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// Why a throttle record was written.
public enum ThrottleCause: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// A rule of the policy is unhealthy.
    case rule = 0
    /// The app has recovered by one level, or its initial hold has passed.
    case recovery = 1
    /// Sessions start but show no sign of life: crashes at launch never report themselves.
    case launchFailure = 2
    /// A person has pinned or bounded the state, or that has ended.
    case override = 3
    /// The first record of a new app.
    case initial = 4

    /// The word used in topics and documents.
    public var name: String {
        switch self {
        case .rule: "rule"
        case .recovery: "recovery"
        case .launchFailure: "launch_failure"
        case .override: "override"
        case .initial: "initial"
        }
    }

    /// The cause with exactly this name, nil for any other word.
    public init?(name: some StringProtocol) {
        guard let cause = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = cause
    }
}
