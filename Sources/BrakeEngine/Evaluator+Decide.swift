// What happens at a tick: who is looked at, what is decided, and when to look again.

import BrakeModel

extension Evaluator {
    /// Decides at the earliest tick with anything to decide; `time` is where the clock moves to.
    mutating func decideNext(upTo time: Int64, into decisions: inout Decisions) {
        if clock == Self.notStarted {
            startClock(at: time, into: &decisions)
        } else {
            decide(at: nextDecision, into: &decisions)
        }
    }

    /// Looks at every app that is due at the earliest tick with anything to decide.
    private mutating func decide(at tick: Int64, into decisions: inout Decisions) {
        let firstChange = decisions.changes.count
        let firstNotice = decisions.notices.count
        let isOverrideTick = overrideTick == tick
        if isOverrideTick { endOverrides(at: tick, into: &decisions) }
        for policy in 0..<plans.count where touchTicks[policy] == tick {
            var list: ContiguousArray<UInt32> = []
            swap(&list, &touched[policy])
            touchTicks[policy] = .max
            for slot in list { look(at: slot, tick: tick, into: &decisions) }
            list.removeAll(keepingCapacity: true)
            // A look touches nothing, so the list's memory can be used again.
            swap(&list, &touched[policy])
        }
        if calendar.first == tick {
            let list = calendar.takeFirst()
            for slot in list where apps.slots[slot].due == tick {
                look(at: slot, tick: tick, into: &decisions)
            }
            calendar.recycle(list)
        }
        if isOverrideTick { holdAll(at: tick, into: &decisions) }
        if stressTick == tick { tellStress(at: tick, into: &decisions) }
        Self.sortByApp(&decisions.changes, from: firstChange)
        // In sorted order: in which order apps were looked at may differ after a restore.
        for change in decisions.changes[firstChange...] {
            checksum = StableHash.combine(
                checksum ^ StableHash.of(change.app.text),
                UInt64(bitPattern: tick) << 2 | UInt64(change.state.rawValue))
            if let override = change.override {
                checksum = StableHash.combine(checksum, UInt64(bitPattern: override.number))
            }
        }
        decisions.notices[firstNotice...].sort {
            ($0.app?.text ?? "", $0.kind.rawValue) < ($1.app?.text ?? "", $1.kind.rawValue)
        }
        updateNextDecision()
    }

    /// Sorts their places: a change is large, and sorting moves what it sorts again and again.
    private static func sortByApp(_ changes: inout [ThrottleChange], from first: Int) {
        guard changes.count - first > 1 else { return }
        let places = (first..<changes.count).sorted { changes[$0].app < changes[$1].app }
        changes.replaceSubrange(first..., with: places.map { changes[$0] })
    }

    mutating func updateNextDecision() {
        nextDecision = min(calendar.first, touchTicks.min() ?? .max, overrideTick, stressTick)
    }

    private mutating func look(at slot: UInt32, tick: Int64, into decisions: inout Decisions) {
        tallied.looks += 1
        apps.slots[slot].isTouched = false
        if apps.slots[slot].due <= tick { apps.slots[slot].due = AppSlot.notDue }
        let head = Panes.headSecond(at: tick - 1)
        // After an hour and more without an event nothing is left: give all rows back.
        let isOver = Int64(head) - Int64(apps.slots[slot].lastSecond) > Panes.hourSeconds
        slide(slot, isOver ? Metric.allCases : Metric.decisive, to: head)
        let plan = plans[Int(apps.slots[slot].policy)]
        let judgement = Judgement(
            plan: plan, windows: rows.rateCounts(of: apps.slots[slot], plan.policy.counting))
        let devices = crashedDevices(of: slot)
        let brake = apps.slots[slot].brake
        // The state whose recovery counts: a new app's is its initial one.
        let judged = brake.isKnown ? brake.state : plan.policy.initial
        var verdict = judgement.verdict(in: judged) {
            devices?.count(window: $0.rawValue, head: head) ?? 0
        }
        verdict.isPartial = tick < windowsFullAt
        let transition = apps.slots[slot].brake.decide(
            at: tick, verdict: verdict, policy: plan.policy)
        if isDue(slot, transition, before: brake.state) {
            slide(slot, Metric.allCases, to: head)
            let rule = transition.cause == .rule ? verdict.rule : nil
            publish(
                slot, tick: tick, transition.cause ?? .override, rule: rule, judgement,
                into: &decisions)
        }
        if transition != Transition() {
            report(transition, of: slot, tick: tick, verdict, into: &decisions)
        }
        let next = nextLook(
            at: apps.slots[slot], tick: tick, judgement, hasChanged: transition.cause != nil)
        if next != AppSlot.notDue { schedule(slot, at: next) }
    }

    /// Whether a look has found something to publish. Without any override that is a change of the
    /// computed state.
    @inline(__always)
    private func isDue(
        _ slot: UInt32, _ transition: Transition, before: ThrottleState
    ) -> Bool {
        if controls.overrides.isEmpty, apps.slots[slot].shape == .none {
            return transition.cause != nil
        }
        return isOtherThanPublished(slot, before: before)
    }

    /// Publishes where an app stands: as computed, for this cause, or as its override has it.
    mutating func publish(
        _ slot: UInt32, tick: Int64, _ cause: ThrottleCause, rule: Int?,
        _ judgement: Judgement, into decisions: inout Decisions
    ) {
        tallied.changes += 1
        let computed = apps.slots[slot].brake.state
        let shape = Shape(override(of: slot), over: computed)
        let isShaped = shape != .none
        apps.slots[slot].revision += 1
        apps.slots[slot].shape = shape
        let app = apps.slots[slot]
        let why = Why(
            clock: tick,
            rule: isShaped ? nil : rule.map { judgement.plan.policy.rules[$0].name },
            windows: WindowShape.allCases.map { windowCounts(of: slot, $0, tick: tick, judgement) })
        decisions.changes.append(
            ThrottleChange(
                app: apps.name(of: slot), state: shape.state ?? computed, since: tick,
                revision: Int64(app.revision), policy: judgement.plan.policy.name,
                cause: isShaped ? .override : cause, why: why,
                override: isShaped ? override(of: slot) : nil, computed: computed))
    }

    private func report(
        _ transition: Transition, of slot: UInt32, tick: Int64, _ verdict: Verdict,
        into decisions: inout Decisions
    ) {
        func add(_ kind: Notice.Kind, _ text: String) {
            decisions.notices.append(
                Notice(kind: kind, app: apps.name(of: slot), clock: tick, text: text))
        }
        let sessions = verdict.sessionsTenMinutes
        if transition.silenceBegan {
            add(
                .silenceBegan,
                "\(sessions) sessions in ten minutes, \(verdict.sessionsHour) in the hour: "
                    + "the state is held until they return.")
        }
        if transition.silenceEnded {
            add(.silenceEnded, "\(sessions) sessions in ten minutes: the app is heard again.")
        }
        if transition.cause == .launchFailure {
            add(
                .launchFailure,
                "Few of \(sessions) sessions in ten minutes showed a sign of life: the app may "
                    + "crash at launch, and such crashes never report themselves.")
        }
        if transition.cause == .launchFailure || transition.cause == .rule {
            tellOverruled(slot, tick: tick, into: &decisions)
        }
    }

    /// Moves the windows of some metrics to a second, and gives back what they no longer hold.
    mutating func slide(_ slot: UInt32, _ metrics: [Metric], to head: UInt32) {
        for metric in metrics where !apps.slots[slot][metric].isNone {
            rows.slide(&apps.slots[slot].rows[metric.rawValue], to: head)
        }
        if apps.slots[slot].devices != AppSlot.noDevices, apps.slots[slot][.crashes].isNone {
            devices[Int(apps.slots[slot].devices)] = CrashedDevices()
            freeDevices.append(apps.slots[slot].devices)
            apps.slots[slot].devices = AppSlot.noDevices
        }
    }

    // MARK: Counts

    /// Nil while none has crashed.
    @inline(__always)
    private func crashedDevices(of slot: UInt32) -> CrashedDevices? {
        let place = apps.slots[slot].devices
        return place == AppSlot.noDevices ? nil : devices[Int(place)]
    }

    private func windowCounts(
        of slot: UInt32, _ shape: WindowShape, tick: Int64, _ judgement: Judgement
    ) -> WindowCounts {
        let app = apps.slots[slot]
        let window = shape.rawValue
        let rated = judgement.windows[window]
        var counts = WindowCounts(windowSeconds: shape.seconds)
        counts.sessions = rated.sessions
        counts.crashes = rated.crashes
        counts.crashedSessions = rows.sum(app[.crashedSessions], window: window)
        counts.crashingSessions = rows.sum(app[.crashingSessions], window: window)
        counts.crashedDevices =
            crashedDevices(of: slot)?.count(window: window, head: Panes.headSecond(at: tick - 1))
            ?? 0
        counts.softErrors = rows.sum(app[.softErrors], window: window)
        counts.alive = rated.alive
        counts.impressions = rows.sum(app[.impressions], window: window)
        counts.adFailures = rows.sum(app[.adFailures], window: window)
        counts.signals = rows.sum(app[.signals], window: window)
        counts.rate = judgement.rate(shape)
        if let interval = judgement.crashInterval(shape) {
            counts.low = 1 - interval.high
            counts.high = 1 - interval.low
        }
        let sufficient = judgement.plan.sufficientSessions[window]
        counts.sample =
            judgement.plan.policy.counting == .sessions && rated.bad > rated.sessions
            ? .anomalous : rated.sessions >= sufficient ? .sufficient : .insufficient
        return counts
    }

    // MARK: When to look again

    /// The earliest tick at which a look could find something new without another event.
    @inline(__always)
    private func nextLook(
        at app: AppSlot, tick: Int64, _ judgement: Judgement, hasChanged: Bool
    ) -> Int64 {
        let plan = judgement.plan
        let policy = plan.policy
        let brake = app.brake
        if hasChanged, brake.state > .normal { return policy.tick(after: tick) }
        let isWaiting = brake.state > .normal && tick < windowsFullAt
        var next =
            app.rows.indices.contains { !app.rows[$0].isNone }
            ? Self.releaseTick(plan, after: app.lastSecond) : .max
        for shape in WindowShape.allCases {
            let window = shape.rawValue
            let sessions = judgement.windows[window].sessions
            let matters =
                rows.hasBad(app, window: window)
                || brake.state > .normal && sessions > 0
                    && policy.level(of: brake.state).recover?.window == shape
                || plan.emptyIsUnhealthy && sessions > 0
            if matters { next = min(next, boundary(of: shape, after: tick, policy)) }
        }
        if judgement.windows[2].sessions >= plan.watchedSessions {
            next = min(next, boundary(of: .tenMinutes, after: tick, policy))
        }
        if isWaiting { next = min(next, policy.tick(notBefore: windowsFullAt)) }
        if brake.calmSince != BrakeState.never {
            next = min(
                next, policy.tick(notBefore: brake.calmSince + brake.dwellMilliseconds(policy)))
        }
        if brake.heldSince != BrakeState.never {
            next = min(
                next, policy.tick(notBefore: brake.heldSince + policy.initialHoldSeconds * 1_000))
        }
        return next == .max ? AppSlot.notDue : max(next, policy.tick(after: tick))
    }

    /// The first tick after this one at which a pane has left the window.
    @inline(__always)
    private func boundary(of shape: WindowShape, after tick: Int64, _ policy: Policy) -> Int64 {
        let pane = shape.paneSeconds * 1_000
        return policy.tick(after: ((tick - 1) / pane + 1) * pane)
    }

    /// A tick by which everything counted up to a second, as stored, has left every window.
    static func releaseTick(_ plan: PolicyPlan, after second: UInt32) -> Int64 {
        let last = Int64(second) - Panes.secondsOffset + Panes.hourSeconds + 1
        return plan.policy.tick(after: last * 1_000 + 1_000)
    }

    /// Has the calendar look at an app at a tick, unless it will earlier.
    mutating func schedule(_ slot: UInt32, at tick: Int64) {
        guard tick < apps.slots[slot].due else { return }
        apps.slots[slot].due = tick
        calendar.insert(slot, at: tick)
        nextDecision = min(nextDecision, tick)
    }
}

extension RowPool {
    /// What rates are made of, in each window.
    func rateCounts(
        of app: AppSlot, _ counting: Policy.Counting
    ) -> InlineArray<3, RateCounts> {
        var windows = InlineArray<3, RateCounts>(repeating: RateCounts())
        let isEvents = counting != .sessions
        for window in 0..<Panes.windows {
            var counts = RateCounts()
            counts.sessions = sum(app[.sessions], window: window)
            counts.alive = sum(app[.alive], window: window)
            if !app.isClean {
                counts.crashes = sum(app[.crashes], window: window)
                counts.bad = max(
                    sum(app[.crashedSessions], window: window),
                    sum(app[.crashingSessions], window: window))
            }
            if isEvents {
                counts.sessions +=
                    sum(app[.repeatedStarts], window: window)
                    - sum(app[.orphanSessions], window: window)
                counts.crashes += sum(app[.repeatedCrashes], window: window)
                counts.bad = counts.crashes
            }
            windows[window] = counts
        }
        return windows
    }

    fileprivate func hasBad(_ app: AppSlot, window: Int) -> Bool {
        !app.isClean
            && (sum(app[.crashes], window: window) > 0
                || sum(app[.crashedSessions], window: window) > 0
                || sum(app[.crashingSessions], window: window) > 0
                || sum(app[.repeatedCrashes], window: window) > 0)
    }
}
