// What the evaluator has met, for metrics: nothing is corrected, repeated or refused unseen.

package import BrakeModel

/// Counts since the evaluator began or was restored. They never enter a decision.
package struct Tallies: Sendable, Equatable {
    package var events: Int64 = 0
    /// Crashes and session starts that had been seen within the horizon.
    package var repeats: Int64 = 0
    /// Too old for any window.
    package var expired: Int64 = 0
    /// Device times in another unit than milliseconds.
    package var convertedTimes: Int64 = 0
    /// Shifted, because the device's clock was off at the upload.
    package var shifted: Int64 = 0
    /// More than a minute ahead of the log.
    package var future: Int64 = 0
    /// Taken after the clock had passed them.
    package var stragglers: Int64 = 0
    /// Of new apps beyond the limit.
    package var refusedApps: Int64 = 0
    /// Ad events left out of their app's stress, as too many countries of apps were counted.
    package var refusedCountries: Int64 = 0
    /// Counts that can rise no further.
    package var saturated: Int64 = 0
    /// Looks at apps.
    package var looks: Int64 = 0
    /// Changes of apps.
    package var changes: Int64 = 0
    /// Ids that were forgotten before their horizon, for want of memory.
    package var displacedIDs: Int64 = 0

    package init() {}
}

/// What an evaluator has decided: to be published in this order.
package struct Decisions: Sendable {
    /// In order of tick, then app.
    package var changes: [ThrottleChange] = []
    package var notices: [Notice] = []
    /// In order of tick, then app.
    package var stress: [StressChange] = []
    /// How often the caps of an app's countries were tightened or eased.
    package var tightenings = 0
    /// Events that could not be taken, by their place in the batch.
    package var refused: [(event: Int, reason: Rejection)] = []

    package init() {}

    package var isEmpty: Bool {
        changes.isEmpty && notices.isEmpty && stress.isEmpty && refused.isEmpty
    }

    /// Empties all and keeps the memory.
    package mutating func removeAll() {
        changes.removeAll(keepingCapacity: true)
        notices.removeAll(keepingCapacity: true)
        stress.removeAll(keepingCapacity: true)
        tightenings = 0
        refused.removeAll(keepingCapacity: true)
    }
}
