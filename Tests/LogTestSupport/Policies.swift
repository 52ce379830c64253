// Policies that decide much in little time.
package import BrakeEngine
import BrakeModel

extension Policy {
    /// Quick to brake and quick to ease, and it eases without sessions, too.
    package static let brisk = easing(
        "brisk", tickMilliseconds: 1_000, caution: 10, throttle: 20, minSessions: 5, minDevices: 2)

    /// Brakes at once, and eases a second after its minute is clean.
    package static let quick = easing(
        "quick", tickMilliseconds: 500, caution: 1, throttle: 1, minSessions: 5, minDevices: 2)

    /// Eases at the first clean tick, so that there is much to decide.
    package static let restless = easing(
        "restless", tickMilliseconds: 500, caution: 0, throttle: 0, minSessions: 3, minDevices: 0)

    /// Throttles on one bad minute and eases by time alone, after so many seconds at each level.
    private static func easing(
        _ name: String, tickMilliseconds: Int64, caution: Int64, throttle: Int64,
        minSessions: Int, minDevices: Int
    ) -> Policy {
        Policy(
            name: name, version: 1, tickMilliseconds: tickMilliseconds, counting: .sessions,
            initial: .normal, initialHoldSeconds: 0, entry: .jump, confidence: nil,
            rules: [
                Rule(
                    name: "minute", state: .throttle, window: .minute,
                    condition: .crashFreeBelow(0.9), minSessions: minSessions,
                    minDevices: minDevices)
            ],
            caution: Level(dwellSeconds: caution), throttle: Level(dwellSeconds: throttle),
            halt: Level(), relapseSeconds: 0, dwellMaxSeconds: 0, silence: nil, launch: nil)
    }
}
