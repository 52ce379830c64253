// What people have decided, as an evaluator needs it: which policy an app has, and which overrides
// hold. A value made from the `control` topic up to some offset.

package import BrakeModel

/// What holds from an epoch's beginning on.
package struct Controls: Sendable, Equatable {
    /// The policy of the apps that fit a pattern.
    package struct Assignment: Sendable, Equatable {
        package var apps: AppPattern
        /// The policy's place in `policies`.
        package var place: Int

        package init(_ apps: AppPattern, place: Int) {
            self.apps = apps
            self.place = place
        }
    }

    /// The most policies that can be in force at once.
    package static let policiesMax = 256

    /// Each of another name. The first is that of every app not assigned another.
    package var policies: [Policy]
    /// The most particular first.
    package var assignments: [Assignment] = []
    /// At most one for each app, and one for all others.
    package var overrides: [Override] = []
    /// Overrides from this number on have not been told of before.
    package var newFrom: Int64 = 0
    /// Whether this evaluator is the one that tells of what concerns the whole fleet.
    package var tellsOfFleet = true

    package init(policies: [Policy]) {
        precondition(
            (1...Controls.policiesMax).contains(policies.count), "between 1 and 256 policies")
        self.policies = policies
    }

    /// The place of an app's policy. O(patterns).
    func policyPlace(of app: some Collection<UInt8>) -> UInt8 {
        UInt8(assignments.first { $0.apps.matches(app) }?.place ?? 0)
    }
}
