// The stage as the executable sees it: routes for a listener, and a service that follows the log.

package import EventLog
package import HTTPServer
package import Runtime

/// Serves what the evaluator has published. Reading needs no log: the table is in memory.
package final class Edge: Sendable {
    private static let keeperMilliseconds = 1_000

    package let log: any EventLog
    let settings: ServeSettings
    let logger: Logger
    let registry: Metrics
    let metrics: ServeMetrics
    let clock: LogClock
    package let table: ThrottleTable
    let history = RecentHistory()
    let hub: StreamHub

    package init(
        log: any EventLog, settings: ServeSettings, logger: Logger, metrics registry: Metrics,
        clock: LogClock = .wall
    ) {
        self.log = log
        self.settings = settings
        self.logger = logger
        self.registry = registry
        self.clock = clock
        metrics = ServeMetrics(registry)
        table = ThrottleTable(partitions: log.partitions, startedAt: clock.now())
        hub = StreamHub(
            partitions: log.partitions, settings: settings, table: table, metrics: metrics,
            clock: clock)
        ServeMetrics.addGauges(to: registry, table: table, hub: hub, clock: clock)
    }

    /// Wall clock, ms since 1970.
    var now: Int64 { clock.now() }

    /// Follows the log until asked to stop.
    package var service: Service {
        Service("serve") { stop in try self.run(stop: stop) }
    }

    package func run(stop: StopSignal) throws(LogFault) {
        if let path = settings.backupPath {
            start(from: BackupFile(path: path, logger: logger))
        }
        // Heartbeats go on while the log keeps the follower waiting.
        let keeperStop = StopSignal()
        let keeper = WorkerThread(name: "serve keeper") { self.keep(keeperStop) }
        defer {
            keeperStop.request(reason: "the edge stops")
            keeper.join()
        }
        try makeFollower().run(stop: stop)
    }

    /// Refuses a bootstrap file that cannot be used: better known at the start than in an outage.
    package func checkBootstrap() throws(BackupFault) {
        _ = try bootstrap?.load()
    }

    private var bootstrap: BootstrapFile? {
        settings.bootstrapPath.map { BootstrapFile(path: $0, partitions: log.partitions) }
    }

    /// What follows the log, for those who drive it in their own thread.
    package func makeFollower() -> TableFollower {
        TableFollower(
            log: log, table: table, history: history, hub: hub, clock: clock, logger: logger,
            metrics: metrics)
    }

    private func start(from backup: BackupFile) {
        guard let kept = backup.load(partitions: log.partitions) else { return }
        publish(
            TableImage(
                shards: kept.shards, caps: kept.caps, source: .backup, position: kept.position,
                startedAt: table.image.startedAt))
        logger.info("serving from the backup until the log has been read")
    }

    /// Serves the states of a file as long as they are the best there is: until the log has been
    /// read, and unless a backup is younger.
    private func serve(bootstrap content: BootstrapFile.Content) {
        let offered = TableImage(
            shards: content.shards, caps: content.caps, source: .bootstrap,
            position: .zero(content.shards.count),
            startedAt: table.image.startedAt)
        let isTaken = table.takingOver {
            let known = table.image
            let isBetter =
                switch known.source {
                case .nothing, .bootstrap: true
                case .backup: (offered.heardAt ?? 0) > (known.heardAt ?? 0)
                case .log: false
                }
            if isBetter { publish(offered) }
            return isBetter
        }
        logger.info(
            isTaken
                ? "serving from the bootstrap file until the log has been read"
                : "the bootstrap file is left aside, as there is something better")
    }

    private func publish(_ image: TableImage) {
        table.publish(image)
        table.version.pass()
        metrics.published(image)
        history.replaceChanges(by: image)
        hub.restart(at: image.position)
    }

    /// Looks after clients and files until asked to stop.
    private func keep(_ stop: StopSignal) {
        let backup = settings.backupPath.map { BackupFile(path: $0, logger: logger) }
        let bootstrap = self.bootstrap
        var savedAt = SystemClock.monotonicMilliseconds()
        repeat {
            let now = SystemClock.monotonicMilliseconds()
            hub.keep(monotonic: now)
            if let bootstrap { look(at: bootstrap) }
            if now - savedAt >= settings.backupMilliseconds {
                backup?.save(table.image)
                savedAt = now
            }
        } while !stop.wait(milliseconds: Self.keeperMilliseconds)
        hub.finish()
        backup?.save(table.image)
    }

    private func look(at bootstrap: BootstrapFile) {
        do throws(BackupFault) {
            if let shards = try bootstrap.loadIfChanged() { serve(bootstrap: shards) }
        } catch {
            metrics.refusedBootstrap()
            logger.warning(
                "the bootstrap file is refused, what was known stays", ["fault": LogValue(error)])
        }
    }

    /// What the edge answers.
    package var routes: [Route] {
        [
            Route(.get, "/") { _ in Console.page() },
            Route(.get, "/v1/apps") { self.fleet($0) },
            Route(.get, "/v1/apps/{app}") { self.app($0) },
            Route(.get, "/v1/changes") { self.changes($0) },
            Route(.get, "/v1/notices") { self.notices($0) },
            Route(.get, "/v1/stream") { self.stream($0) },
            Route(.get, "/api/ad/freq-cap") { self.frequencyCap($0) },
            Route(.post, "/ofrep/v1/evaluate/flags", bodyBytesMax: Self.flagBodyBytesMax) {
                self.allFlags($0)
            },
            Route(.post, "/ofrep/v1/evaluate/flags/{key}", bodyBytesMax: Self.flagBodyBytesMax) {
                self.flag($0)
            },
            Route(.get, "/livez") { _ in .text("ok\n").with("Cache-Control", "no-store") },
            Route(.get, "/readyz") { _ in self.readiness() },
            Route(.get, "/metrics") { _ in
                .text(self.registry.rendered(), type: Metrics.contentType)
                    .with("Cache-Control", "no-store")
            },
        ]
    }
}
