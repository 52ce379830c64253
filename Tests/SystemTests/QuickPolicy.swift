// A policy whose states move within seconds.

enum QuickPolicy {
    static let text = """
        {
          "name": "quick", "version": 1, "tick_ms": 250, "counting": "sessions",
          "initial": "Caution", "initial_hold_s": 2, "entry": "jump", "confidence": 0.8,
          "levels": {
            "Halt": {"dwell_s": 1, "recover": {"window_s": 60, "at_least": 0.9, "min_sessions": 5}},
            "Throttle": {"dwell_s": 1,
              "recover": {"window_s": 60, "at_least": 0.93, "min_sessions": 5}},
            "Caution": {"dwell_s": 1,
              "recover": {"window_s": 60, "at_least": 0.96, "min_sessions": 5}}
          },
          "relapse_s": 3, "dwell_max_s": 2,
          "rules": [
            {"name": "burst", "state": "Halt", "window_s": 60, "crash_free_below": 0.8,
              "min_sessions": 10, "min_devices": 3},
            {"name": "some", "state": "Throttle", "window_s": 60, "crash_free_below": 0.88,
              "min_sessions": 10, "min_devices": 3},
            {"name": "few", "state": "Caution", "window_s": 60, "crash_free_below": 0.95,
              "min_sessions": 20, "min_devices": 2}
          ],
          "silence": {"share": 0.2, "baseline": 50},
          "launch": {"alive_below": 0.5, "baseline": 0.8, "min_sessions": 20, "state": "Throttle"}
        }
        """
}
