// The bridge: follows the states of apps and keeps a Remote Config parameter at them, without ever
// writing over what people do there.

import BrakeModel
package import EventLog
package import Runtime

/// Keeps one parameter of one project. `run` belongs to one thread.
package final class RemoteConfigBridge {
    /// So often in a row others may be faster; then it is left for later.
    private static let conflictsMax = 5
    private static let waitMilliseconds = 250
    private static let logPauseMilliseconds = 1_000

    private let settings: BridgeSettings
    private let clocks: Clocks
    private let logger: Logger
    private let metrics: BridgeMetrics
    private let states: FollowedStates
    private let service: RemoteConfigService
    private let log: any EventLog
    private var schedule: PublishSchedule
    /// What of the slots we have published, or tried to: anything else there is a person's.
    private var own: [TemplateSlot: Set<String>] = [:]
    private var knowsOwn = false
    private var pinned: Set<TemplateSlot> = []
    private var isFailing = false
    private var isLogAway = false

    /// `isCancelled` is asked while a call to the service takes long.
    package init(
        log: any EventLog, settings: BridgeSettings, logger: Logger, metrics: Metrics,
        clocks: Clocks = .system, isCancelled: @escaping () -> Bool = { false }
    ) {
        self.log = log
        self.settings = settings
        self.clocks = clocks
        self.logger = logger
        self.metrics = BridgeMetrics(metrics)
        states = FollowedStates(
            log, apps: Set(settings.slots.map(\.app)), now: clocks.wallMilliseconds())
        service = RemoteConfigService(settings, clocks: clocks, isCancelled: isCancelled)
        schedule = PublishSchedule(
            spacing: settings.spacingMilliseconds, look: settings.lookMilliseconds)
    }

    /// Follows until asked to stop; throws what no retry of the log helps against.
    package func run(stop: StopSignal) throws(LogFault) {
        defer { states.close() }
        while !stop.isRequested {
            do throws(LogFault) {
                try step(waitMilliseconds: Self.waitMilliseconds)
                if isLogAway { logger.info("the log answers again", ["log": .text(log.place)]) }
                isLogAway = false
            } catch {
                guard error.remedy == .retry else { throw error }
                if !isLogAway {
                    logger.warning(
                        "the log does not answer, what is published stays",
                        ["fault": LogValue(error)])
                }
                isLogAway = true
                stop.wait(milliseconds: Self.logPauseMilliseconds)
            }
        }
    }

    /// Takes what the log has, and puts the template in order if that is due.
    func step(waitMilliseconds: Int) throws(LogFault) {
        // While the log is away states grow old, and that is to be published, too.
        defer { if states.isComplete { publishIfDue() } }
        try states.poll(waitMilliseconds: waitMilliseconds)
    }

    private func publishIfDue() {
        let wallNow = clocks.wallMilliseconds()
        var wanted: [TemplateSlot: ThrottleState] = [:]
        for (slot, app) in settings.slots {
            wanted[slot] = states.state(
                of: app, now: wallNow, validityMilliseconds: settings.validityMilliseconds)
        }
        let now = clocks.monotonicMilliseconds()
        guard schedule.isDue(wanted, now: now) else { return }
        do throws(BridgeFault) {
            let isNew = try putInOrder(wanted)
            schedule.settle(wanted, isNew: isNew, now: now)
            metrics.failing(false)
            if isFailing { logger.info("the template is in order again") }
            isFailing = false
        } catch {
            schedule.fail(error.remedy, now: now)
            metrics.failed()
            metrics.failing(true)
            if !isFailing {
                logger.warning(
                    "the template is not in order, trying on", ["fault": LogValue(error)])
            }
            isFailing = true
        }
    }

    /// Returns whether it took a new version.
    private func putInOrder(_ wanted: [TemplateSlot: ThrottleState]) throws(BridgeFault) -> Bool {
        for _ in 0..<Self.conflictsMax {
            let newest = try service.fetch()
            let changes = try changes(to: newest, wanted)
            guard !changes.isEmpty else { return false }
            let words = changes.map { "\($0.slot) \($0.value)" }.joined(separator: ", ")
            let template = newest.template.setting(
                changes, conditions: settings.conditions, description: "AdBrake: \(words)")
            // Before the call: if its answer is lost, it may have taken effect all the same.
            for (slot, value) in changes { own[slot, default: []].insert(value) }
            do throws(BridgeFault) {
                try service.publish(template, over: newest.tag)
            } catch {
                guard error.remedy == .conflict else { throw error }
                metrics.conflicted()
                continue
            }
            for (slot, value) in changes { own[slot] = [value] }
            metrics.published()
            logger.info("published", ["values": .text(words)])
            return true
        }
        throw BridgeFault(
            "publish the template",
            reason: "\(Self.conflictsMax) times in a row somebody else was faster",
            hint: "it is tried again; who else publishes to this project all the time?",
            remedy: .conflict)
    }

    /// What differs, but for what a person has set by hand.
    private func changes(
        to newest: RemoteConfigService.Fetched, _ wanted: [TemplateSlot: ThrottleState]
    ) throws(BridgeFault) -> [(slot: TemplateSlot, value: String)] {
        var changes: [(slot: TemplateSlot, value: String)] = []
        var held: Set<TemplateSlot> = []
        for (slot, _) in settings.slots {
            guard let state = wanted[slot] else { continue }
            switch newest.template.content(of: slot) {
            case .absent: changes.append((slot, state.name))
            case .special: held.insert(slot)
            case .text(state.name): own[slot] = [state.name]
            case .text(let text):
                if try isOwn(text, slot, newest) {
                    changes.append((slot, state.name))
                } else {
                    held.insert(slot)
                }
            }
        }
        tell(held)
        return changes
    }

    /// Whether we have put this text there, or nobody has known us yet.
    private func isOwn(
        _ text: String, _ slot: TemplateSlot, _ newest: RemoteConfigService.Fetched
    ) throws(BridgeFault) -> Bool {
        if own[slot] == nil, !knowsOwn {
            // After a restart the service itself remembers what we have published.
            if let last = try service.lastOwn(newest: newest) {
                for (slot, _) in settings.slots where own[slot] == nil {
                    if case .text(let text) = last.content(of: slot) { own[slot] = [text] }
                }
            }
            knowsOwn = true
        }
        guard let own = own[slot] else { return true }
        return own.contains(text)
    }

    private func tell(_ held: Set<TemplateSlot>) {
        for slot in held.subtracting(pinned) {
            logger.warning(
                "a value set by hand is left alone",
                [
                    "parameter": .text(settings.parameter), "value": .text(slot.description),
                    "hint": "to give it back, delete it, or set it to what the brake says",
                ])
        }
        for slot in pinned.subtracting(held) {
            logger.info("a value is kept again", ["value": .text(slot.description)])
        }
        pinned = held
        metrics.pinned(held.count)
    }
}
