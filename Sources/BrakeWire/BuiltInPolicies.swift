// The two policies that every installation has; the same bytes as in `schemas/policies`.

package import BrakeEngine

/// The policies that are there without any file.
package enum BuiltInPolicies {
    /// What an app gets when nothing else is said.
    package static let `default` = policy(defaultSource)

    /// The rules of the article that the project began with, for comparison.
    package static let article = policy(articleSource)

    /// The names of both.
    package static let names = ["default", "article"]

    /// The policy with this name, nil for any other.
    package static func policy(named name: String) -> Policy? {
        switch name {
        case "default": `default`
        case "article": article
        default: nil
        }
    }

    /// The document of the policy with this name, nil for any other.
    package static func source(named name: String) -> String? {
        switch name {
        case "default": defaultSource
        case "article": articleSource
        default: nil
        }
    }

    private static func policy(_ source: String) -> Policy {
        do {
            let reader = DocumentReader(bytesMax: PolicyDocument.bytesMax)
            return try PolicyDocument(Array(source.utf8), with: reader).policy
        } catch {
            preconditionFailure("a policy of our own: \(error)")
        }
    }

    /// The document of `article`.
    package static let articleSource = """
        {
          "name": "article",
          "version": 1,
          "tick_ms": 120000,
          "counting": "events",
          "empty_rate": 1.0,
          "initial": "Normal",
          "initial_hold_s": 0,
          "entry": "step",
          "levels": {},
          "relapse_s": 0,
          "dwell_max_s": 0,
          "rules": [
            {"name": "burst", "state": "Halt", "window_s": 60, "crashes_at_least": 20},
            {"name": "hour", "state": "Halt", "window_s": 3600, "crash_free_below": 0.96},
            {"name": "ten-minutes", "state": "Throttle", "window_s": 600, \
        "crash_free_below": 0.99},
            {"name": "hour-mild", "state": "Caution", "window_s": 3600, \
        "crash_free_below": 0.997}
          ]
        }

        """

    /// The document of `default`.
    package static let defaultSource = """
        {
          "name": "default",
          "version": 1,
          "tick_ms": 1000,
          "counting": "sessions",
          "initial": "Caution",
          "initial_hold_s": 600,
          "entry": "jump",
          "confidence": 0.95,
          "levels": {
            "Halt": {"dwell_s": 900, "recover": {"window_s": 600, "at_least": 0.98, \
        "min_sessions": 50}},
            "Throttle": {"dwell_s": 600, "recover": {"window_s": 600, "at_least": 0.993, \
        "min_sessions": 50}},
            "Caution": {"dwell_s": 300, "recover": {"window_s": 3600, "at_least": 0.998, \
        "min_sessions": 100}}
          },
          "relapse_s": 3600,
          "dwell_max_s": 7200,
          "rules": [
            {"name": "burst", "state": "Halt", "window_s": 60, "crash_free_below": 0.95, \
        "min_sessions": 50, "min_devices": 10},
            {"name": "hour", "state": "Halt", "window_s": 3600, "crash_free_below": 0.96, \
        "min_sessions": 100, "min_devices": 10},
            {"name": "ten-minutes", "state": "Throttle", "window_s": 600, \
        "crash_free_below": 0.99, "min_sessions": 50, "min_devices": 5},
            {"name": "hour-mild", "state": "Caution", "window_s": 3600, \
        "crash_free_below": 0.997, "min_sessions": 100, "min_devices": 5}
          ],
          "silence": {"share": 0.2, "baseline": 300},
          "launch": {"alive_below": 0.5, "baseline": 0.9, "min_sessions": 100, \
        "state": "Throttle"}
        }

        """
}
