// What every long-running subcommand has: a logger, metrics, signals, a log, and an orderly end.

import EventLog
import HTTPServer
import Runtime

/// A process that runs stages until it is asked to stop.
struct StageProcess {
    static let logLevel = Option.choice(
        "log-level", LogLevel.allCases.map(\.name), default: "info",
        environment: "ADBRAKE_LOG_LEVEL", help: "the least level of the lines on standard error")

    /// How long running requests may take to end: as long as the log may take to have an upload.
    private static let drainMilliseconds = 14_000
    /// How long a service may take to stop beyond that.
    private static let graceMilliseconds = 6_000

    let logger: Logger
    let metrics = Metrics()
    let stop = StopSignal()
    let log: any EventLog
    private let signals: Signals
    private let started = Monitor<[HTTPListener]>([])
    private let reloads: Monitor<[@Sendable () -> Void]>

    /// Opens the log; signals reach this process from here on.
    init(_ command: ParsedCommand) throws {
        let level = LogLevel(name: command[Self.logLevel]) ?? .info
        logger = Logger(part: command.name, level: level, to: StandardErrorSink())
        let reloads = Monitor<[@Sendable () -> Void]>([])
        self.reloads = reloads
        signals = Signals(stop: stop) {
            for reload in reloads.read({ $0 }) { reload() }
        }
        log = try LogOption.open(command, logger: logger)
        logger.info(
            "log opened",
            ["log": .text(log.place), "partitions": LogValue(log.partitions)])
    }

    /// Runs a hook at each SIGHUP.
    func onReload(_ hook: @escaping @Sendable () -> Void) { reloads.withLock { $0.append(hook) } }

    /// Runs the services; they stop in reverse order. Returns the exit status.
    func run(_ services: [Service]) -> Int32 {
        let group = ServiceGroup(
            [upkeep] + services, log: logger,
            graceMilliseconds: Self.drainMilliseconds + Self.graceMilliseconds)
        let status = group.run(stop: stop)
        log.close()
        return status
    }

    /// Retention and compaction, in slices.
    private var upkeep: Service {
        let log = log
        let logger = logger.named("upkeep")
        return Service("upkeep") { stop in
            stop.whenRequested { log.interrupt() }
            while !stop.wait(milliseconds: 5_000) {
                do throws(LogFault) {
                    while try log.maintain(), !stop.isRequested {}
                } catch {
                    guard error.remedy == .retry else { throw error }
                    logger.warning("upkeep failed, trying again", ["fault": LogValue(error)])
                }
            }
        }
    }

    /// Serves routes at an address, from now on: when that is taken, as by a program that was
    /// started twice, it must be known before an evaluator takes the partitions of the first one.
    /// Nothing that may fail comes between this and the run of the service, which stops it, but the
    /// start of another, which then stops it. The name tells the listeners of a process apart.
    func listener(
        _ settings: HTTPListener.Settings, _ routes: [Route],
        threads: HTTPListener.Settings.Threads, name: String = "http"
    ) throws(HTTPFault) -> Service {
        var settings = settings
        settings.threads = threads
        let scheme = settings.tlsKey == nil ? "http" : "https"
        let listener = HTTPListener(
            name, settings, router: Router(routes), log: logger.named(name), metrics: metrics)
        do throws(HTTPFault) {
            try listener.start()
        } catch {
            // None may be let go of while it runs.
            for other in started.read({ $0 }) { other.stop(withinMilliseconds: 0) }
            throw error
        }
        started.withLock { $0.append(listener) }
        logger.info(
            "listening",
            [
                "address": .text("\(scheme)://\(settings.address.host):\(listener.port)"),
                "for": .text(name),
            ])
        return Service(name) { stop in
            while !stop.wait(milliseconds: 60_000) {}
            listener.stop(withinMilliseconds: Self.drainMilliseconds)
        }
    }
}
