// Which letters are meant.

package import BrakeModel
package import BrakeWire

/// What letters must have; nil: anything.
package struct DeadFilter: Sendable {
    package var app: AppID?
    package var reason: Rejection?
    /// The name of an input, or `upload` or `app`.
    package var topic: String?
    package var stage: DeadLetter.Stage?
    /// Written at this time or later, ms since 1970.
    package var since: Int64?
    /// This letter alone.
    package var number: Int64?

    package init() {}

    package func fits(_ stored: StoredLetter) -> Bool {
        let letter = stored.letter
        return (app == nil || app == letter.app)
            && (reason == nil || reason == letter.event.reason)
            && (topic == nil || topic == letter.topic)
            && (stage == nil || stage == letter.stage)
            && (since.map { stored.written >= $0 } ?? true)
            && (number == nil || number == stored.number)
    }
}
