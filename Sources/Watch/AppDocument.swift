// What the edge says of one app, as far as a person who looks on wants to know it.
package import BrakeModel
package import BrakeWire

/// An app's state with its reason.
package struct AppDocument: Sendable, Equatable {
    /// What one window held when the state changed.
    package struct Window: Sendable, Equatable {
        package var seconds: Int64
        package var sessions: Int64
        package var crashed: Int64
        package var devices: Int64
        package var rate: Double?
        package var low: Double?
        package var high: Double?
    }

    package var app: String
    package var state: ThrottleState
    package var cause: String
    package var revision: Int64
    /// The tick at which the state began, ms since 1970.
    package var since: Int64
    package var rule: String?
    /// Who holds the state to what, and why; nil when nobody does.
    package var order: String?
    package var windows: [Window]

    /// Nil when the document is not one of an app.
    package init?(_ document: JSONValue) {
        guard let app = document["app"]?.text,
            let state = document["state"]?.text.flatMap({ ThrottleState(name: $0) })
        else { return nil }
        self.app = app
        self.state = state
        cause = document["cause"]?.text ?? ""
        revision = document["revision"]?.integer ?? 0
        since = document["since"]?.integer ?? 0
        rule = document["why"]?["rule"]?.text
        if let held = document["override"], let by = held["by"]?.text,
            let mode = held["mode"]?.text, let state = held["state"]?.text,
            let reason = held["reason"]?.text
        {
            order = "\(mode) \(state) by \(by): \(reason)"
        }
        windows = (document["why"]?["windows"]?.array ?? []).compactMap { Window($0) }
    }

}

/// One page of the edge's answer for the fleet.
package struct FleetDocument: Sendable, Equatable {
    package var apps: [AppDocument]
    /// The app behind which the next page begins.
    package var next: String?

    /// Nil when the document is not such an answer.
    package init?(_ document: JSONValue?) {
        guard let apps = document?["apps"]?.array else { return nil }
        self.apps = apps.compactMap { AppDocument($0) }
        next = document?["next"]?.text
    }
}

extension AppDocument.Window {
    init?(_ document: JSONValue) {
        guard let seconds = document["window_s"]?.integer,
            let sessions = document["sessions"]?.integer
        else { return nil }
        self.seconds = seconds
        self.sessions = sessions
        // The rate is made of the worse of the two.
        crashed = max(
            document["crashed_sessions"]?.integer ?? 0,
            document["crashing_sessions"]?.integer ?? 0)
        devices = document["crashed_devices"]?.integer ?? 0
        rate = document["rate"]?.number
        low = document["low"]?.number
        high = document["high"]?.number
    }
}
