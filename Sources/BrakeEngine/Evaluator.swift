// The deterministic machine: events and the clock go in, decisions come out.

package import BrakeModel

/// The most an evaluator may hold.
package struct EvaluatorLimits: Sendable, Equatable {
    package var appsMax: Int
    /// Session ids remembered for an hour.
    package var sessionIDsMax: Int
    /// Crash ids, and ids of crashed sessions, remembered for a day.
    package var crashIDsMax: Int
    /// Countries of apps that annoy, counted at once, 1 200 bytes each; what is beyond is left out,
    /// and metered.
    package var stressPlacesMax: Int

    package init(
        appsMax: Int = 100_000, sessionIDsMax: Int = 1 << 22, crashIDsMax: Int = 1 << 20,
        stressPlacesMax: Int = 1 << 13
    ) {
        self.appsMax = appsMax
        self.sessionIDsMax = sessionIDsMax
        self.crashIDsMax = crashIDsMax
        self.stressPlacesMax = stressPlacesMax
    }
}

/// Counts one partition group's events over three windows and decides at each tick.
///
/// Pure: what it decides depends on the events, their append times and the clock it is given, never
/// on batches, restarts or speed. One thread owns it. Work is done for apps that can change only:
/// those touched since their last tick and those a timer has come due for; a look at any other app
/// would find what the last one found, since its counts change at pane boundaries alone.
package struct Evaluator: ~Copyable {
    static let sessionHorizonMilliseconds: Int64 = 3_600_000
    static let crashHorizonMilliseconds: Int64 = 24 * 3_600_000
    /// Before the first clock.
    static let notStarted = Int64.min

    /// C: every record before it has been counted. `Evaluator.notStarted` at first.
    package internal(set) var clock: Int64 {
        get { now.clock }
        set { now = Moment(newValue) }
    }
    /// The clock, with what is asked of it for each event.
    private(set) var now = Moment(Evaluator.notStarted)
    var tallied = Tallies()
    /// Rolls over every counted event and every change: two evaluators that agree have the same.
    package internal(set) var checksum: UInt64 = 0

    let limits: EvaluatorLimits
    /// What people have decided.
    var controls: Controls
    /// One for each policy in force.
    var plans: [PolicyPlan]
    var apps: AppTable
    var rows = RowPool()
    var seenSessions: SeenIDs
    var seenCrashes: SeenIDs
    var devices: ContiguousArray<CrashedDevices> = []
    var freeDevices: ContiguousArray<UInt32> = []
    /// Of apps that annoy.
    var stress: StressTable
    /// The next full minute at which stress is told, `.max` while there is none.
    var stressTick = Int64.max
    var calendar = Calendar()
    /// Slots counted into since their last look, and the tick that will look at them, by policy.
    var touched: [ContiguousArray<UInt32>]
    var touchTicks: [Int64]
    /// The override of apps that have none of their own.
    var fleetOverride: Override?
    /// By slot.
    var ownOverrides: [UInt32: Override] = [:]
    /// The tick at which every app is held against its override.
    var overrideTick = Int64.max
    /// The earliest tick with anything to decide.
    var nextDecision = Int64.max
    /// From here on the windows hold all they should: see `resume`.
    var windowsFullAt = Evaluator.notStarted
    /// Counts without deciding, to fill windows again when no snapshot is left.
    var isRecounting = false
    /// The panes of one row after the other, while a snapshot is read.
    var restoredPanes: ContiguousArray<PaneCount> = []

    /// An evaluator that knows no app and has one policy for all.
    package init(policy: Policy, limits: EvaluatorLimits = EvaluatorLimits()) {
        self.init(controls: Controls(policies: [policy]), limits: limits)
    }

    init(controls: Controls, limits: EvaluatorLimits) {
        self.limits = limits
        self.controls = controls
        plans = controls.policies.map(PolicyPlan.init)
        apps = AppTable(appsMax: limits.appsMax)
        seenSessions = SeenIDs(
            horizonMilliseconds: Self.sessionHorizonMilliseconds, capacityMax: limits.sessionIDsMax)
        seenCrashes = SeenIDs(
            horizonMilliseconds: Self.crashHorizonMilliseconds, capacityMax: limits.crashIDsMax)
        stress = StressTable(placesMax: limits.stressPlacesMax)
        touched = Array(repeating: [], count: plans.count)
        touchTicks = Array(repeating: .max, count: plans.count)
    }

    /// What it has met since it began or was restored.
    package var tallies: Tallies {
        var tallies = tallied
        tallies.displacedIDs = seenSessions.displaced + seenCrashes.displaced
        return tallies
    }

    /// The earliest tick with anything to decide, nil when no app is due, or there is no clock yet.
    package var nextTick: Int64? {
        nextDecision == .max || clock == Self.notStarted ? nil : nextDecision
    }

    /// The most apps that it can know.
    package var appsMax: Int { limits.appsMax }

    /// The memory of apps and their counts. Besides, there are a few bytes for each app's timer and
    /// some hundred for each crashed device.
    package var appByteCount: Int { apps.byteCount + rows.byteCount }
    /// The memory of remembered ids, which grows with sessions and crashes, not with apps.
    package var idByteCount: Int { seenSessions.byteCount + seenCrashes.byteCount }

    /// How many apps it knows.
    package var appCount: Int { apps.count }

    /// Counts all events, in the order of the batch; each first moves the clock to its append time.
    package mutating func apply(_ batch: EventBatch, into decisions: inout Decisions) {
        apply(batch, batch.events.indices, into: &decisions)
    }

    /// Where the id of the last event's app lies in the batch, and its slot: events of one record
    /// share their id, and are not looked up one by one.
    struct LastApp {
        var nameOffset = UInt32.max
        var slot: UInt32 = 0
    }

    /// Moves the clock, deciding at each tick that it reaches. A clock that is behind is ignored.
    @inline(__always)
    package mutating func advance(to time: Int64, into decisions: inout Decisions) {
        guard time > clock else { return }
        while nextDecision <= time, !isRecounting { decideNext(upTo: time, into: &decisions) }
        clock = time
    }

    mutating func take(
        _ batch: EventBatch, at place: Int, guess: UInt32, after last: inout LastApp,
        into decisions: inout Decisions
    ) {
        let event = batch.events[place]
        if event.append < clock {
            tallied.stragglers += 1
        } else {
            advance(to: event.append, into: &decisions)
        }
        if event.nameOffset == last.nameOffset {
            count(event, in: last.slot)
        } else if let slot = apps.find(event, in: batch, guess: guess) {
            last = LastApp(nameOffset: event.nameOffset, slot: slot)
            count(event, in: slot)
        } else if let slot = apps.insert(event, in: batch) {
            assignPolicy(to: slot)
            touch(slot)
            count(event, in: slot)
        } else {
            tallied.refusedApps += 1
            decisions.refused.append((event: place, reason: .tooManyApps))
        }
    }
}
