// Beginning again from published states, when there is no snapshot: windows are filled from the
// inputs that are still there, and the states are taken as they were.

package import BrakeModel

extension Evaluator {
    /// Makes an app known in the state that it was last published with, or gives it that state if
    /// it was known in an earlier one.
    package mutating func seed(_ change: ThrottleChange) {
        let name = Array(change.app.text.utf8)
        let hash = StableHash.of(change.app.text)
        let known = apps.find(hash: hash, name: name)
        guard let slot = known ?? apps.insert(hash: hash, name: name) else {
            tallied.refusedApps += 1
            return
        }
        assignPolicy(to: slot)
        guard known == nil || Int64(apps.slots[slot].revision) < change.revision else { return }
        apps.slots[slot].revision = UInt32(clamping: change.revision)
        apps.slots[slot].shape = Shape(change.override, over: change.computed)
        var brake = apps.slots[slot].brake
        brake.isKnown = true
        brake.state = change.computed
        brake.since = change.since
        brake.hasChanged = change.revision > 1 || change.cause != .initial
        if change.cause == .recovery { brake.easedAt = change.since }
        apps.slots[slot].brake = brake
    }

    /// From here on events are counted, but nothing is decided, until `resume`.
    package mutating func beginRecount() { isRecounting = true }

    /// Ends the recount at a clock: every app is looked at, at its next tick.
    ///
    /// `coverage`: since when everything was there to be counted. Until the longest window lies
    /// behind it, apps can be braked but none is eased: what is missing could be crashes.
    package mutating func resume(at time: Int64, coveredSince coverage: Int64) {
        isRecounting = false
        if coverage > Self.notStarted {
            windowsFullAt = coverage + Int64(WindowShape.hour.seconds) * 1_000
        }
        clock = max(clock, time)
        for slot in 0..<UInt32(apps.count) {
            // Nobody has looked whether the ticks meanwhile were calm.
            apps.slots[slot].brake.calmSince = BrakeState.never
            apps.slots[slot].brake.heldSince = BrakeState.never
        }
        controls.overrides = controls.overrides.filter { $0.endTick > clock }
        enlistOverrides()
        touchAll()
        // Overrides may have begun or ended meanwhile.
        overrideTick = Self.second(after: clock)
        startStressTicks()
        updateNextDecision()
    }
}
