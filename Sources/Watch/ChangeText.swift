// A change of state in words: what a person would say of it.
internal import BrakeModel
internal import Runtime

enum ChangeText {
    /// One line: the time, the app, from what to what, and why.
    static func line(from before: ThrottleState?, to document: AppDocument) -> String {
        let states =
            before.map { "\($0.name) -> \(document.state.name)" } ?? "is in \(document.state.name)"
        return "\(time(document.since))  \(padded(document.app, 14))  \(padded(states, 20))  "
            + reason(document)
    }

    static func reason(_ document: AppDocument) -> String {
        let window = window(document).map { ": " + counts($0) } ?? ""
        return switch document.cause {
        case "rule": "rule \(document.rule ?? "?")\(window)"
        case "recovery": "healthy\(window)"
        case "launch_failure": "sessions start but show no sign of life\(window)"
        case "override": document.order ?? "what a person had decided has ended"
        case "initial": "seen for the first time"
        case "unknown_app": "not known to the edge yet"
        case "expired": "the edge has heard nothing for too long"
        default: document.cause
        }
    }

    /// The counts of a window, with the rate and its interval.
    static func counts(_ window: AppDocument.Window) -> String {
        var text =
            "\(window.crashed) of \(window.sessions) sessions crashed in \(window.seconds) s"
        if window.devices > 0 { text += " on \(window.devices) devices" }
        guard let rate = window.rate else { return text }
        text += ", crash-free \(percent(rate))"
        if let low = window.low, let high = window.high {
            text += " (surely from \(percent(low)) to \(percent(high)))"
        }
        return text
    }

    /// The window that speaks most clearly for the change: of a recovery the one with the highest
    /// rate, else the one with the lowest; of equal ones the shortest.
    private static func window(_ document: AppDocument) -> AppDocument.Window? {
        let windows = document.windows.filter { $0.sessions > 0 }
        guard document.cause == "recovery" else {
            return windows.min { ($0.rate ?? 1) < ($1.rate ?? 1) }
        }
        return windows.min { ($0.rate ?? 0) > ($1.rate ?? 0) }
    }

    /// Hundredths of a percent.
    static func percent(_ share: Double) -> String {
        guard share.isFinite, abs(share) < 1_000 else { return "?" }
        let hundredths = Int((share * 10_000).rounded())
        let rest = abs(hundredths) % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) %"
    }

    /// The time of day, UTC.
    static func time(_ milliseconds: Int64) -> String {
        let seconds = ((milliseconds / 1_000) % 86_400 + 86_400) % 86_400
        let parts = [seconds / 3_600, seconds / 60 % 60, seconds % 60]
        return parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
