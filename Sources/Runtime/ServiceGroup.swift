// Runs the long-running parts of a process together: all of them, or none.

/// A long-running part: blocks until it is asked to stop, or fails.
package struct Service: Sendable {
    package let name: String
    /// Whether returning without being asked is a success; the others then stop too.
    package let endsByItself: Bool
    package let run: @Sendable (StopSignal) throws -> Void

    package init(
        _ name: String, endsByItself: Bool = false,
        run: @escaping @Sendable (StopSignal) throws -> Void
    ) {
        self.name = name
        self.endsByItself = endsByItself
        self.run = run
    }
}

/// Runs each service on a thread of its own. The first failure stops all; they stop in the reverse
/// order of starting, each before the next is asked, so a part outlives those that rest on it.
package struct ServiceGroup: Sendable {
    package static let servicesMax = 64

    /// How long one service may take to stop.
    package var graceMilliseconds: Int
    private let services: [Service]
    private let log: Logger

    /// How a service ended; nil failure: it returned.
    private struct Ending: Sendable {
        var index: Int
        var failure: String?
    }

    package init(_ services: [Service], log: Logger, graceMilliseconds: Int = 10_000) {
        precondition(services.count <= Self.servicesMax, "services are named in code")
        self.services = services
        self.log = log
        self.graceMilliseconds = graceMilliseconds
    }

    /// Blocks until all have ended; returns the exit status: 0, or 1 when one failed or did not
    /// stop in time. Ends when `stop` is requested or as soon as one service ends.
    package func run(stop: StopSignal) -> Int32 {
        let endings = Monitor<[Ending]>([])
        let stops = services.map { _ in StopSignal() }
        for index in services.indices { start(index, stops[index], endings) }
        stop.whenRequested { endings.withLock { _ in } }
        while !services.isEmpty && !stop.isRequested && endings.read({ $0.isEmpty }) {
            // Woken by an ending and by the stop; the bound only guards a missed one.
            _ = endings.wait(milliseconds: 1_000) { endings in
                endings.isEmpty && !stop.isRequested ? nil : true
            }
        }
        let first = endings.read { $0.first }
        var isSuccess = report(first, stop)
        for index in services.indices.reversed() {
            let ended = end(index, stops[index], endings, isReported: index == first?.index)
            isSuccess = isSuccess && ended
        }
        log.info("stopped", ["status": isSuccess ? 0 : 1])
        return isSuccess ? 0 : 1
    }

    private func start(_ index: Int, _ stop: StopSignal, _ endings: Monitor<[Ending]>) {
        let service = services[index]
        log.debug("starting", ["service": .text(service.name)])
        // Not joined: a service that hangs must not keep the group from returning.
        _ = WorkerThread(name: service.name) {
            var failure: String?
            do {
                try service.run(stop)
            } catch {
                failure = "\(error)"
            }
            let ending = Ending(index: index, failure: failure)
            endings.withLock { $0.append(ending) }
        }
    }

    /// Says why the group ends, once; returns whether that is a success.
    private func report(_ first: Ending?, _ stop: StopSignal) -> Bool {
        if let first, let failure = first.failure {
            log.error(
                "service failed",
                ["service": .text(services[first.index].name), "reason": .text(failure)])
            return false
        }
        if stop.isRequested || first == nil {
            log.info("stopping", ["reason": .text(stop.reason ?? "no services")])
            return true
        }
        let service = services[first?.index ?? 0]
        if service.endsByItself {
            log.info("stopping", ["reason": "\(service.name) is done"])
        } else {
            log.error("service ended unasked", ["service": .text(service.name)])
        }
        return service.endsByItself
    }

    /// Stops one service and waits for its end; returns whether it ended well.
    private func end(
        _ index: Int, _ stop: StopSignal, _ endings: Monitor<[Ending]>, isReported: Bool
    ) -> Bool {
        let name = services[index].name
        stop.request(reason: "the process stops")
        let ending = endings.wait(milliseconds: graceMilliseconds) { endings in
            endings.first { $0.index == index }
        }
        guard let ending else {
            log.error(
                "service did not stop in time",
                ["service": .text(name), "grace_ms": LogValue(graceMilliseconds)])
            return false
        }
        if let failure = ending.failure, !isReported {
            log.error(
                "service failed while stopping",
                ["service": .text(name), "reason": .text(failure)])
        }
        return ending.failure == nil
    }
}
