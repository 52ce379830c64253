// What a run has done, in words for a person and as a document for programs that compare.
package import BrakeModel
internal import BrakeWire
internal import Runtime

/// The result of a run.
package struct TrafficSummary: Sendable {
    package struct AppLine: Sendable {
        package var index: Int
        package var app: AppID
        package var tally: AppTally
    }

    package var settings: TrafficSettings
    package var status: TrafficStatus
    package var apps: [AppLine]

    private var totals: SendTotals { status.totals }
    private var isAffected: [Bool] {
        apps.map { line in
            settings.fleet.scenario.troubles.contains { $0.affects(app: line.index) }
        }
    }

    /// Whether the counts by app are exactly what the collector has accepted.
    package var isComplete: Bool { totals.lost == 0 && totals.rejected == 0 }

    /// Everything, as JSON.
    package func json() -> [UInt8] {
        JSONWriter.bytes(capacity: 4_096) { document in
            document.object { document in
                document.field("scenario", settings.fleet.scenario.name)
                document.field("seed", settings.fleet.seed)
                document.field("start", settings.fleet.start)
                document.field("elapsed_ms", status.elapsedMilliseconds)
                document.field("complete", isComplete)
                write(totals, to: &document)
                document.field("held_up_ms", status.heldUpMilliseconds)
                document.array("apps") { list in
                    for (line, isAffected) in zip(apps, isAffected) {
                        list.object { write(line, isAffected, to: &$0) }
                    }
                }
            }
        }
    }

    private func write(_ totals: SendTotals, to document: inout JSONWriter) {
        document.field("uploads", totals.uploads)
        document.field("sent", totals.sent)
        document.field("repeated", apps.reduce(0) { $0 + $1.tally.repeatedEvents })
        document.field("accepted", totals.accepted)
        document.field("rejected", totals.rejected)
        document.field("lost", totals.lost)
        document.field("busy_answers", totals.busyAnswers)
        document.field("server_errors", totals.serverErrors)
        document.field("unanswered", totals.unanswered)
    }

    private func write(_ line: AppLine, _ isAffected: Bool, to document: inout JSONWriter) {
        let tally = line.tally
        document.field("app", line.app.text)
        document.field("affected", isAffected)
        document.field("events", tally.events)
        document.field("repeated", tally.repeatedEvents)
        document.field("sessions", tally.sessions)
        document.field("background_starts", tally.backgroundStarts)
        document.field("alive", tally.alive)
        document.field("crashes", tally.crashes)
        document.field("crashed_sessions", tally.crashedSessions)
        document.field("non_fatal_crashes", tally.nonFatalCrashes)
        document.field("soft_errors", tally.softErrors)
        document.field("signals", tally.signals)
        document.field("impressions", tally.impressions)
        document.field("ad_failures", tally.adFailures)
    }

    /// A few lines for a person.
    package func text() -> String {
        var lines = [
            "\(totals.sent) events in \(totals.uploads) uploads: \(totals.accepted) accepted, "
                + "\(totals.rejected) rejected, \(totals.lost) lost; "
                + "\(apps.reduce(0) { $0 + $1.tally.repeatedEvents }) of them repeated on purpose",
            "answers: \(totals.busyAnswers) busy (tried again), \(totals.serverErrors) server "
                + "errors, \(totals.unanswered) attempts without an answer; longest exchange "
                + "\(totals.exchangeMillisecondsMax) ms",
        ]
        if status.heldUpMilliseconds > 0 {
            lines.append(
                "the fleet stood still for \(status.heldUpMilliseconds) ms: not taken faster")
        }
        if let trouble = totals.trouble { lines.append("last trouble: \(trouble)") }
        for (line, isAffected) in zip(apps, isAffected).prefix(Self.appLinesMax) {
            let tally = line.tally
            lines.append(
                "  \(line.app)\(isAffected ? " (in trouble)" : ""): \(tally.sessions) sessions, "
                    + "\(tally.crashes) crashes, \(tally.impressions) ads shown")
        }
        if apps.count > Self.appLinesMax {
            lines.append("  and \(apps.count - Self.appLinesMax) more apps")
        }
        lines.append("seed \(settings.fleet.seed)")
        return lines.joined(separator: "\n")
    }

    private static let appLinesMax = 12
}
