// What a person sees while a fleet runs: a line a second on a terminal, fewer elsewhere.
internal import BrakeModel
internal import Glibc
internal import Runtime

/// Writes progress to standard output.
struct TrafficProgress {
    /// A log file needs no line a second.
    private static let quietSeconds: Int64 = 15
    private static let stateNames = ["Normal", "Caution", "Throttle", "Halt"]

    let isQuiet: Bool
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var lastSecond: Int64 = 0
    private var lastSent = 0
    private var announced: Int64 = 0
    private var lastTrouble: String?
    private let fleet: FleetSettings

    init(_ fleet: FleetSettings, isQuiet: Bool) {
        self.fleet = fleet
        self.isQuiet = isQuiet
    }

    func begin(_ settings: TrafficSettings) {
        guard !isQuiet else { return }
        say(
            "\(fleet.scenario.name): \(fleet.scenario.about)\n"
                + "\(fleet.apps) apps, \(Int(fleet.eventsPerSecond)) events/s to come to, "
                + "seed \(fleet.seed), to \(settings.collector)")
        for trouble in fleet.scenario.troubles {
            say("  from \(trouble.from) s to \(trouble.to) s: \(describe(trouble))")
        }
    }

    mutating func show(_ status: TrafficStatus) {
        let second = status.elapsedMilliseconds / 1_000
        let passed = second - lastSecond
        guard !isQuiet else { return }
        announce(until: Int64(Double(status.elapsedMilliseconds) * fleet.speed / 1_000))
        guard passed >= (isTerminal ? 1 : Self.quietSeconds) else { return }
        let totals = status.totals
        var line =
            "\(second) s  \((totals.sent - lastSent) / Int(passed)) events/s  "
            + "sent \(totals.sent)  accepted \(totals.accepted)  rejected \(totals.rejected)"
        let retried = totals.busyAnswers + totals.serverErrors + totals.unanswered
        if retried > 0 { line += "  tried again \(retried)" }
        if totals.lost > 0 { line += "  lost \(totals.lost)" }
        if status.waitingUploads > 0 { line += "  waiting \(status.waitingUploads)" }
        for (name, count) in zip(Self.stateNames, status.appsByState ?? []) where count > 0 {
            line += "  \(name) \(count)"
        }
        say(line)
        let trouble = status.totals.trouble ?? status.feedbackTrouble
        if let trouble, trouble != lastTrouble { say("  " + trouble) }
        lastTrouble = trouble
        lastSecond = second
        lastSent = totals.sent
    }

    /// Says which troubles have begun and ended by this second of the fleet's time.
    private mutating func announce(until second: Int64) {
        for trouble in fleet.scenario.troubles {
            if announced < trouble.from && second >= trouble.from {
                say("\(trouble.from) s  from now on \(describe(trouble))")
            }
            if announced < trouble.to && second >= trouble.to {
                say("\(trouble.to) s  no more: \(describe(trouble))")
            }
        }
        announced = second
    }

    func end(_ summary: TrafficSummary) {
        say(summary.text())
    }

    /// One sentence on what will go wrong.
    private func describe(_ trouble: Trouble) -> String {
        let apps = fleet.appIDs().enumerated().filter { trouble.affects(app: $0.offset) }
        let names = apps.count <= 6 ? apps.map(\.element.text).joined(separator: ", ") : nil
        let what =
            switch trouble.kind {
            case .adCrash(let share, let formats, let vendor):
                "\(vendor) crashes \(percent(share)) of shows "
                    + "(\(formats.map(\.name).joined(separator: ", ")))"
            case .crashLoop(let rate): "one device crashes at launch, \(rate) times a minute"
            case .launchCrash(let share): "\(percent(share)) of launches die unreported"
            case .lull(let share): "traffic falls to \(percent(share))"
            }
        return "\(what), in \(names ?? "\(apps.count) apps")"
    }

    private func percent(_ share: Double) -> String {
        let tenths = Int((share * 1_000).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
    }

    private func say(_ text: String) {
        print(text)
        // Others may follow the output through a pipe.
        fflush(nil)
    }
}
