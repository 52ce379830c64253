// The evaluator as `run` and `evaluate` start it.

import BrakeEngine
import Evaluate
import EventLog
import Runtime

/// Options of the evaluator, and how its lanes are made of them.
enum EvaluateOptions {
    static let appsMaxDefault = 100_000

    private static let lanes = Option.integer(
        "lanes", in: 1...64, default: 1, help: "threads that evaluate; each has some partitions")
    private static let apps = Option.integer(
        "max-apps", in: 1...10_000_000, default: appsMaxDefault,
        help: "the most apps of the process; events of others are refused")
    private static let idleLag = Option.milliseconds(
        "idle-lag", in: 50...60_000, default: 500,
        help: "how far the clock stays behind when nothing waits")
    private static let snapshots = Option.milliseconds(
        "snapshot-every", in: 1_000...3_600_000, default: 60_000,
        help: "how often the state of a partition is put into the log")

    private static let rebuild = Option.flag(
        "rebuild",
        help: "make the state anew from epochs and inputs, whatever snapshots there are, then go on"
    )

    /// Before a lane that the group has given up joins it again.
    private static let rejoinMilliseconds = 500

    static let options: [any DeclaredOption] = [
        PolicyOption.option, lanes, apps, idleLag, snapshots, rebuild,
    ]

    static func services(
        _ command: ParsedCommand, _ policy: Policy, _ process: StageProcess
    ) -> [Service] {
        var settings = EvaluateSettings(
            policy: policy,
            limits: EvaluateSettings.limits(
                appsMax: command[apps], partitions: process.log.partitions))
        settings.idleLagMilliseconds = Int64(command[idleLag])
        settings.snapshotMilliseconds = Int64(command[snapshots])
        let log = process.log
        let logger = process.logger.named("evaluate")
        if command[rebuild] {
            settings.rebuild = Rebuild()
            logger.warning(
                "rebuilding without snapshots; leave --rebuild out of the next start")
        }
        let fixed = settings
        let metrics = EvaluateMetrics(process.metrics)
        return (0..<command[lanes]).map { lane in
            Service("lane \(lane)") { stop in
                stop.whenRequested { log.interrupt() }
                while !stop.isRequested {
                    let evaluator = EvaluatorLane(
                        log: log, lane: lane, settings: fixed, logger: logger, metrics: metrics)
                    do throws(LogFault) {
                        try evaluator.run(stop: stop)
                    } catch {
                        guard error.remedy == .rejoin else { throw error }
                        logger.warning(
                            "joining the group again",
                            ["lane": LogValue(lane), "fault": LogValue(error)])
                        stop.wait(milliseconds: rejoinMilliseconds)
                    }
                }
            }
        }
    }
}
