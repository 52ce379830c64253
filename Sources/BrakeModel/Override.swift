// A person's word on an app's state, over what the policy computes.

/// Holds the published state of an app, or of all, to what a person has said. The evaluator goes on
/// computing beneath it.
public struct Override: Sendable, Equatable {
    public enum Mode: UInt8, Sendable, CaseIterable, BitwiseCopyable {
        /// The state is this one.
        case pin
        /// The state is this one or a stricter one.
        case atLeast
        /// The state is this one or a looser one.
        case atMost

        /// The word used in topics and documents.
        public var name: String {
            switch self {
            case .pin: "pin"
            case .atLeast: "at_least"
            case .atMost: "at_most"
            }
        }

        /// The mode with exactly this name, nil for any other word.
        public init?(name: some StringProtocol) {
            guard let mode = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = mode
        }
    }

    /// Overrides begin and end at multiples of this time, in ms, whatever the policy's ticks are.
    public static let tickMilliseconds: Int64 = 1_000

    /// Nil: every app that has no override of its own.
    public var app: AppID?
    public var mode: Mode
    public var state: ThrottleState
    public var reason: String
    /// Who has said it.
    public var by: String
    /// When it ends, ms since 1970; nil: when somebody ends it.
    public var expiresAt: Int64?
    /// The place of its record in `control`: says which override this is.
    public var number: Int64

    public init(
        app: AppID?, mode: Mode, state: ThrottleState, reason: String, by: String,
        expiresAt: Int64?, number: Int64
    ) {
        self.app = app
        self.mode = mode
        self.state = state
        self.reason = reason
        self.by = by
        self.expiresAt = expiresAt
        self.number = number
    }

    /// What is published while the policy computes this state.
    public func published(_ computed: ThrottleState) -> ThrottleState {
        switch mode {
        case .pin: state
        case .atLeast: max(computed, state)
        case .atMost: min(computed, state)
        }
    }

    /// Whether it makes a difference: a pin always does, a bound when it is met.
    public func shapes(_ computed: ThrottleState) -> Bool {
        mode == .pin || published(computed) != computed
    }

    /// The tick from which on it holds no more; `Int64.max`: never by itself.
    public var endTick: Int64 {
        guard let expiresAt else { return .max }
        let tick = Self.tickMilliseconds
        // Whatever a record says: times up to the largest tick are kept as they are.
        guard expiresAt > 0 else { return 0 }
        guard expiresAt <= Int64.max - tick else { return .max }
        return (expiresAt + tick - 1) / tick * tick
    }
}
