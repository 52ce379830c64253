import BrakeEngine
import BrakeModel
let article = Policy(name: "default", version: 1, tickMilliseconds: 1000, counting: .sessions, initial: .caution, initialHoldSeconds: 600, entry: .jump, confidence: 0.95, rules: [
  Rule(name: "burst", state: .halt, window: .minute, condition: .crashFreeBelow(0.95), minSessions: 50, minDevices: 10),
  Rule(name: "hour", state: .halt, window: .hour, condition: .crashFreeBelow(0.96), minSessions: 100, minDevices: 10),
  Rule(name: "ten-minutes", state: .throttle, window: .tenMinutes, condition: .crashFreeBelow(0.99), minSessions: 50, minDevices: 5),
  Rule(name: "hour-mild", state: .caution, window: .hour, condition: .crashFreeBelow(0.997), minSessions: 100, minDevices: 5),
], caution: Level(dwellSeconds: 300, recover: Recovery(window: .hour, atLeast: 0.998, minSessions: 100)), throttle: Level(dwellSeconds: 600, recover: Recovery(window: .tenMinutes, atLeast: 0.993, minSessions: 50)), halt: Level(dwellSeconds: 900, recover: Recovery(window: .tenMinutes, atLeast: 0.98, minSessions: 50)), relapseSeconds: 3600, dwellMaxSeconds: 7200, silence: Silence(share: 0.2, baseline: 300), launch: Launch(aliveBelow: 0.5, baseline: 0.9, minSessions: 100, state: .throttle))
BenchEngine(policy: article).run()
