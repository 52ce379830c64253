// An error event of Sentry's SDKs, as far as it matters here.

/// Who, when, how bad, and on what.
struct SentryError {
    private(set) var id: String?
    /// The device's clock, ms since 1970.
    private(set) var at: Int64?
    private(set) var device: String?
    private(set) var build: String?
    /// Nobody has handled it: the program, or this part of it, has ended.
    private(set) var isFatal: Bool
    /// info, warning, error; nil for what is less.
    private(set) var severity: String?
    /// Of the last exception, which is the outermost one.
    private(set) var type: String?
    private(set) var kind: String
    private var osName: String?
    private var model: String?
    private var country: String?

    init(_ event: JSONValue) {
        id = event["event_id"]?.text
        at = MomentText.milliseconds(event["timestamp"])
        device = event["user"]?["id"]?.text
        build = event["release"]?.text
        let level = event["level"]?.text ?? "error"
        let exception = Self.exceptions(event).last
        let mechanism = exception?["mechanism"]
        type = exception?["type"]?.text
        isFatal = level == "fatal" || mechanism?["handled"] == .bool(false)
        severity =
            ["fatal": "error", "error": "error", "warning": "warning", "info": "info"][level]
        kind = Self.kind(mechanism?["type"]?.text ?? "")
        osName = event["contexts"]?["os"]?["name"]?.text
        model = event["contexts"]?["device"]?["model"]?.text
        country = event["user"]?["geo"]?["country_code"]?.text
    }

    func carry(into draft: inout ForeignEvents.Draft) {
        draft.text("os", osName)
        draft.text("model", model)
        draft.text("country", country)
    }

    private static func exceptions(_ event: JSONValue) -> [JSONValue] {
        event["exception"]?["values"]?.array ?? event["exception"]?.array ?? []
    }

    private static func kind(_ mechanism: String) -> String {
        switch mechanism.lowercased() {
        case "signal", "signalhandler", "mach", "minidump": "signal"
        case "anr", "apphang", "applicationexitinfo", "applicationnotresponding": "anr"
        case "watchdog_termination": "watchdog"
        case "out_of_memory": "oom"
        default: "exception"
        }
    }
}
