// People over rules: policies that change, and overrides that hold the published state while the
// evaluator goes on computing beneath.

package import BrakeModel

extension Evaluator {
    /// The policies in force, the first for every app not assigned another.
    package var policies: [Policy] { controls.policies }

    /// The shortest distance of two ticks of any policy in force, in ms.
    package var shortestTickMilliseconds: Int64 {
        plans.reduce(Int64.max) { min($0, $1.policy.tickMilliseconds) }
    }

    /// The computed states of all apps that have one, in no particular order.
    package func forEachComputed(_ body: (AppID, ThrottleState) -> Void) {
        for slot in 0..<UInt32(apps.count) where apps.slots[slot].brake.isKnown {
            body(apps.name(of: slot), apps.slots[slot].brake.state)
        }
    }

    /// From here on decides by these. To be called between epochs: which records and ticks came
    /// before must be known to whoever repeats it.
    ///
    /// An app is looked at by a changed policy at that policy's next tick, and begins to count its
    /// calm ticks anew; the state is kept. An override takes effect at the app's next tick, and at
    /// the next full second at the latest.
    package mutating func adopt(_ new: Controls, into decisions: inout Decisions) {
        let old = controls
        controls = new
        controls.overrides = new.overrides.filter { $0.endTick > clock }
        for override in new.overrides
        where override.endTick <= clock && override.number >= new.newFrom {
            tellEnd(of: override, "was over before it could take effect", into: &decisions)
        }
        if new.policies != old.policies || new.assignments != old.assignments {
            replacePlans(old.policies)
        }
        if controls.overrides != old.overrides {
            enlistOverrides()
            // Whether an app is looked at must not depend on what else it has waited for.
            if clock > Self.notStarted { touchAll() }
            // Before the first clock there is no next full second yet: as soon as there is one.
            overrideTick = clock == Self.notStarted ? Self.firstClock : Self.second(after: clock)
        }
        updateNextDecision()
    }

    // MARK: Policies

    private mutating func replacePlans(_ old: [Policy]) {
        plans = controls.policies.map(PolicyPlan.init)
        touched = Array(repeating: [], count: plans.count)
        touchTicks = Array(repeating: .max, count: plans.count)
        for slot in 0..<UInt32(apps.count) {
            let before = old[Int(apps.slots[slot].policy)]
            assignPolicy(to: slot)
            if controls.policies[Int(apps.slots[slot].policy)] == before { continue }
            apps.slots[slot].brake.leave(before, at: clock)
        }
        touchAll()
    }

    /// Gives a slot the policy that its app is assigned.
    mutating func assignPolicy(to slot: UInt32) {
        apps.slots[slot].policy =
            controls.assignments.isEmpty ? 0 : controls.policyPlace(of: apps.nameBytes(of: slot))
    }

    /// Has every app looked at, at its next tick, and forgets all other times of looks: they were
    /// ticks of other policies, or meant other counts. A look too many changes nothing.
    mutating func touchAll() {
        calendar = Calendar()
        for policy in 0..<plans.count {
            touched[policy].removeAll()
            touchTicks[policy] = .max
        }
        for slot in 0..<UInt32(apps.count) {
            apps.slots[slot].due = AppSlot.notDue
            apps.slots[slot].isTouched = false
            touch(slot)
        }
    }

    // MARK: Overrides

    /// What stands for "as soon as the clock moves".
    static let firstClock = Evaluator.notStarted + 1

    /// The first full second after a time.
    static func second(after time: Int64) -> Int64 {
        let tick = Override.tickMilliseconds
        return (time / tick + 1) * tick
    }

    /// Moves the clock for the first time: overrides that were there before it begin to count.
    mutating func startClock(at time: Int64, into decisions: inout Decisions) {
        clock = time
        endOverrides(at: time, into: &decisions)
        enlistOverrides()
        overrideTick = controls.overrides.isEmpty ? .max : Self.second(after: time)
        updateNextDecision()
    }

    /// Finds the slots of the apps that have overrides of their own. An app that nobody has heard
    /// of becomes known: a person has decided about it.
    mutating func enlistOverrides() {
        fleetOverride = controls.overrides.first { $0.app == nil }
        ownOverrides.removeAll()
        for override in controls.overrides {
            guard let app = override.app else { continue }
            let name = Array(app.text.utf8)
            let hash = StableHash.of(app.text)
            if let slot = apps.find(hash: hash, name: name) {
                ownOverrides[slot] = override
            } else if clock > Self.notStarted {
                guard let slot = apps.insert(hash: hash, name: name) else {
                    tallied.refusedApps += 1
                    continue
                }
                ownOverrides[slot] = override
                assignPolicy(to: slot)
                apps.slots[slot].lastSecond = Panes.headSecond(at: clock)
                touch(slot)
            }
        }
    }

    /// The override that holds for an app.
    func override(of slot: UInt32) -> Override? {
        ownOverrides.isEmpty ? fleetOverride : ownOverrides[slot] ?? fleetOverride
    }

    /// Ends the overrides whose time is over at a tick, and says so.
    mutating func endOverrides(at tick: Int64, into decisions: inout Decisions) {
        let ended = controls.overrides.filter { $0.endTick <= tick }
        guard !ended.isEmpty else { return }
        controls.overrides.removeAll { $0.endTick <= tick }
        enlistOverrides()
        for override in ended {
            tellEnd(of: override, "has ended: the computed state holds", at: tick, into: &decisions)
        }
    }

    /// Publishes every app whose override makes its state another one than is published.
    mutating func holdAll(at tick: Int64, into decisions: inout Decisions) {
        for slot in 0..<UInt32(apps.count) {
            let brake = apps.slots[slot].brake
            if !brake.isKnown {
                // Without a record, apps wait for the first tick of their policy, unless a person
                // has decided about this very one.
                guard ownOverrides[slot] != nil else { continue }
                let initial = plans[Int(apps.slots[slot].policy)].policy.initial
                apps.slots[slot].brake.begin(in: initial, at: tick)
            }
            guard isOtherThanPublished(slot, before: apps.slots[slot].brake.state) else { continue }
            let head = Panes.headSecond(at: tick - 1)
            slide(slot, Metric.allCases, to: head)
            let plan = plans[Int(apps.slots[slot].policy)]
            let judgement = Judgement(
                plan: plan, windows: rows.rateCounts(of: apps.slots[slot], plan.policy.counting))
            publish(slot, tick: tick, .override, rule: nil, judgement, into: &decisions)
        }
        overrideTick = controls.overrides.reduce(.max) { min($0, $1.endTick) }
    }

    /// Whether what is to be published is another state than what was, or held by another override.
    /// `before`: what was computed when it was published.
    func isOtherThanPublished(_ slot: UInt32, before: ThrottleState) -> Bool {
        let app = apps.slots[slot]
        guard app.revision > 0 else { return true }
        let shape = Shape(override(of: slot), over: app.brake.state)
        let state = shape.state ?? app.brake.state
        return shape != app.shape || state != app.shape.state ?? before
    }

    private func tellEnd(
        of override: Override, _ what: String, at tick: Int64? = nil,
        into decisions: inout Decisions
    ) {
        guard override.app != nil || controls.tellsOfFleet else { return }
        decisions.notices.append(
            Notice(
                kind: .overrideExpired, app: override.app, clock: tick ?? max(0, clock),
                text: "The override \(override.mode.name) \(override.state.name) by "
                    + "\(override.by) \(what)."))
    }

    /// Tells that a person holds an app looser than the rules call for.
    func tellOverruled(_ slot: UInt32, tick: Int64, into decisions: inout Decisions) {
        guard let override = override(of: slot) else { return }
        let computed = apps.slots[slot].brake.state
        let published = override.published(computed)
        guard published < computed else { return }
        decisions.notices.append(
            Notice(
                kind: .overruled, app: apps.name(of: slot), clock: tick,
                text: "The rules call for \(computed.name), but \(override.mode.name) "
                    + "\(override.state.name) by \(override.by) keeps it at \(published.name)."))
    }
}

/// What an override has made of a published state, in four bytes: which override, and which state.
struct Shape: Equatable, BitwiseCopyable {
    /// The published state is the computed one.
    static let none = Shape(bits: 0)
    private static let numberMask: UInt32 = (1 << 30) - 1

    /// The override's number and one, within 30 bits, then the state's two.
    let bits: UInt32

    init(bits: UInt32) { self.bits = bits }

    /// What this override makes of a computed state; none when it makes no difference.
    init(_ override: Override?, over computed: ThrottleState) {
        guard let override, override.shapes(computed) else {
            self = .none
            return
        }
        // To tell one override from the one before it, so many bits are more than enough.
        let number = UInt32(truncatingIfNeeded: override.number &+ 1) & Self.numberMask
        bits = max(1, number) << 2 | UInt32(override.published(computed).rawValue)
    }

    /// The published state, nil when that is the computed one.
    var state: ThrottleState? {
        bits == 0 ? nil : ThrottleState(rawValue: UInt8(truncatingIfNeeded: bits & 3))
    }
}
