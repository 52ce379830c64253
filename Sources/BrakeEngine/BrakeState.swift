// The state machine of one app: what it is in, and what one tick makes of that.

import BrakeModel

/// What the rules say of an app at a tick. Computed from counts alone.
struct Verdict: Equatable {
    /// The strictest state among unhealthy rules, Normal when none is unhealthy.
    var target = ThrottleState.normal
    /// The first such rule's place in the policy.
    var rule: Int?
    /// Launch failure calls for its state.
    var launchFails = false
    /// The recovery of the present level holds, or it has none.
    var recovers = false
    /// Some of what the windows should hold was not there to be counted: nothing eases on them.
    var isPartial = false
    /// Sessions of ten minutes and of the hour, for silence.
    var sessionsTenMinutes = 0
    var sessionsHour = 0
}

/// What a tick has changed.
struct Transition: Equatable {
    /// The state has changed for this cause, or the app has its first record.
    var cause: ThrottleCause?
    var silenceBegan = false
    var silenceEnded = false
}

/// Where one app stands. A value without history: its counts are kept elsewhere.
struct BrakeState: BitwiseCopyable, Equatable {
    static let never = Int64.min
    /// Doubling more often changes no dwell any more.
    static let relapsesMax: UInt8 = 30

    /// The tick at which the state began.
    var since: Int64 = 0
    /// The first tick of the run of calm ticks, or `never`.
    var calmSince = BrakeState.never
    /// The first tick of the run that the initial hold asks for, or `never`.
    var heldSince = BrakeState.never
    /// The tick of the last easing, or `never`.
    var easedAt = BrakeState.never
    /// Sessions of the hour when the silence began.
    var silenceBaseline: UInt32 = 0
    var state = ThrottleState.normal
    /// Whether it has had its first record.
    var isKnown = false
    /// Whether it has changed since its first record, or that was an entry already.
    var hasChanged = false
    var isSilent = false
    /// How often every dwell has been doubled.
    var relapses: UInt8 = 0

    /// Makes the app known in a state before any tick has decided on it.
    mutating func begin(in initial: ThrottleState, at tick: Int64) {
        isKnown = true
        state = initial
        since = tick
    }

    /// Applies one tick. Entry first, then easing: an app that must be stricter does not ease.
    mutating func decide(at tick: Int64, verdict: Verdict, policy: Policy) -> Transition {
        var transition = Transition()
        let isFirst = !isKnown
        if isFirst { begin(in: policy.initial, at: tick) }
        updateSilence(verdict, policy: policy, transition: &transition)
        if let cause = enter(at: tick, verdict: verdict, policy: policy) {
            transition.cause = cause
            return transition
        }
        let eased = ease(at: tick, verdict: verdict, policy: policy, isFirst: isFirst)
        transition.cause = isFirst ? .initial : eased ? .recovery : nil
        return transition
    }

    /// Ends the rule of a policy at a clock: the ticks so far were calm by other rules than those
    /// that come, and relapses are forgotten if it would have forgotten them by now.
    mutating func leave(_ policy: Policy, at clock: Int64) {
        calmSince = Self.never
        heldSince = Self.never
        let rested = since + max(1, policy.relapseSeconds * 1_000)
        if state == .normal, policy.tick(notBefore: rested) <= clock { relapses = 0 }
    }

    private mutating func enter(
        at tick: Int64, verdict: Verdict, policy: Policy
    ) -> ThrottleCause? {
        var called = verdict.target
        var cause = ThrottleCause.rule
        if verdict.launchFails, let launch = policy.launch, launch.state > called {
            called = launch.state
            cause = .launchFailure
        }
        guard called > state else { return nil }
        noteRelapse(at: tick, policy: policy)
        state = policy.entry == .jump ? called : state.raised
        since = tick
        hasChanged = true
        calmSince = Self.never
        heldSince = Self.never
        return cause
    }

    private mutating func noteRelapse(at tick: Int64, policy: Policy) {
        let relapse = policy.relapseSeconds * 1_000
        // A tick before this one has found the app in Normal for so long.
        if state == .normal, policy.tick(notBefore: since + relapse) < tick { relapses = 0 }
        if easedAt != Self.never, tick - easedAt <= relapse {
            relapses = min(relapses + 1, Self.relapsesMax)
        }
    }

    /// Eases by one level, or from the initial hold to Normal, when the run of ticks is long
    /// enough.
    private mutating func ease(
        at tick: Int64, verdict: Verdict, policy: Policy, isFirst: Bool
    ) -> Bool {
        guard state > .normal else { return false }
        let isHeld =
            !hasChanged && verdict.target == .normal && !isSilent && !verdict.isPartial
        Self.extend(&heldSince, at: tick, while: isHeld)
        Self.extend(&calmSince, at: tick, while: isCalm(verdict, policy: policy))
        if isFirst { return false }
        if isHeld, tick - heldSince >= policy.initialHoldSeconds * 1_000 {
            leave(for: .normal, at: tick)
            return true
        }
        if calmSince != Self.never, tick - calmSince >= dwellMilliseconds(policy) {
            leave(for: state.eased, at: tick)
            return true
        }
        return false
    }

    private mutating func leave(for looser: ThrottleState, at tick: Int64) {
        // The first change of an app is no easing: nothing had been braked.
        if hasChanged { easedAt = tick }
        hasChanged = true
        state = looser
        since = tick
        calmSince = Self.never
        heldSince = Self.never
    }

    private func isCalm(_ verdict: Verdict, policy: Policy) -> Bool {
        let launchCalls = verdict.launchFails && (policy.launch.map { $0.state >= state } ?? false)
        return verdict.target < state && !launchCalls && !isSilent && verdict.recovers
            && !verdict.isPartial
    }

    private static func extend(_ run: inout Int64, at tick: Int64, while holds: Bool) {
        if !holds { run = never } else if run == never { run = tick }
    }

    /// The present level's dwell, doubled by each relapse up to the policy's limit.
    func dwellMilliseconds(_ policy: Policy) -> Int64 {
        let dwell = policy.level(of: state).dwellSeconds
        guard relapses > 0 else { return dwell * 1_000 }
        return min(dwell << Int64(relapses), max(policy.dwellMaxSeconds, dwell)) * 1_000
    }

    private mutating func updateSilence(
        _ verdict: Verdict, policy: Policy, transition: inout Transition
    ) {
        guard let silence = policy.silence else {
            isSilent = false
            return
        }
        if isSilent {
            let expected = silence.share * Double(silenceBaseline) / 6
            isSilent = Double(verdict.sessionsTenMinutes) < expected
            transition.silenceEnded = !isSilent
        } else if verdict.sessionsHour >= silence.baseline {
            let expected = silence.share * Double(verdict.sessionsHour) / 6
            isSilent = Double(verdict.sessionsTenMinutes) < expected
            transition.silenceBegan = isSilent
            if isSilent { silenceBaseline = UInt32(clamping: verdict.sessionsHour) }
        }
    }
}
