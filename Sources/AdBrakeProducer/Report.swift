// What a server reports: the four types of events, with names and types for their fields.

public import BrakeModel

/// An event to be sent.
public enum Report: Sendable, Equatable {
    case session(SessionReport)
    case crash(CrashReport)
    case softError(SoftErrorReport)
    case ad(AdReport)

    /// What all events share.
    public var context: ReportContext {
        switch self {
        case .session(let report): report.context
        case .crash(let report): report.context
        case .softError(let report): report.context
        case .ad(let report): report.context
        }
    }

    /// The input that it goes to.
    public var type: EventType {
        switch self {
        case .session: .session
        case .crash: .crash
        case .softError: .softError
        case .ad: .adEvent
        }
    }
}

/// What all events share. Only the app is needed; all else is better to have.
public struct ReportContext: Sendable, Equatable {
    public var app: AppID
    /// The event's id, by which repeats are recognised: at most 64 characters.
    public var id: String?
    public var session: String?
    /// An opaque id of the device: at most 64 characters.
    public var device: String?
    /// When it happened, by the clock of whoever saw it, ms since 1970; absent: when the log takes
    /// it.
    public var at: Int64?
    /// What that same clock said when the report was sent, by which a wrong clock is put right.
    public var sent: Int64?
    public var build: String?
    public var os: String?
    public var model: String?
    public var country: String?

    public init(
        app: AppID, id: String? = nil, session: String? = nil, device: String? = nil,
        at: Int64? = nil, sent: Int64? = nil, build: String? = nil, os: String? = nil,
        model: String? = nil, country: String? = nil
    ) {
        self.app = app
        self.id = id
        self.session = session
        self.device = device
        self.at = at
        self.sent = sent
        self.build = build
        self.os = os
        self.model = model
        self.country = country
    }
}

/// A session began, showed its first sign of life (ten seconds later), or ended.
public struct SessionReport: Sendable, Equatable {
    public enum Phase: String, Sendable, CaseIterable {
        case start
        case alive
        case end
    }

    public var context: ReportContext
    public var phase: Phase
    /// Starts in the background are no sessions.
    public var isForeground: Bool

    public init(_ context: ReportContext, phase: Phase = .start, isForeground: Bool = true) {
        self.context = context
        self.phase = phase
        self.isForeground = isForeground
    }
}

/// A session crashed.
public struct CrashReport: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case exception
        case signal
        case watchdog
        case oom
        case anr
        case launch
    }

    public var context: ReportContext
    public var isFatal: Bool
    public var kind: Kind?
    /// When the session began that crashed, by the same clock as `context.at`, ms since 1970.
    public var sessionAt: Int64?
    /// The SDK at fault, if that is known.
    public var vendor: String?

    public init(
        _ context: ReportContext, isFatal: Bool = true, kind: Kind? = nil, sessionAt: Int64? = nil,
        vendor: String? = nil
    ) {
        self.context = context
        self.isFatal = isFatal
        self.kind = kind
        self.sessionAt = sessionAt
        self.vendor = vendor
    }
}

/// An error that the app has handled, or a sign that somebody is annoyed.
public struct SoftErrorReport: Sendable, Equatable {
    public enum Severity: String, Sendable, CaseIterable {
        case info
        case warning
        case error
    }

    public enum Signal: String, Sendable, CaseIterable {
        case resignDuringAd = "resign_during_ad"
        case memoryDuringAd = "memory_during_ad"
        case quitAfterAd = "quit_after_ad"
        case slowDismiss = "slow_dismiss"
    }

    public var context: ReportContext
    public var severity: Severity?
    public var domain: String?
    public var code: String?
    public var signal: Signal?

    public init(
        _ context: ReportContext, severity: Severity? = nil, domain: String? = nil,
        code: String? = nil, signal: Signal? = nil
    ) {
        self.context = context
        self.severity = severity
        self.domain = domain
        self.code = code
        self.signal = signal
    }
}

/// Something happened to an ad.
public struct AdReport: Sendable, Equatable {
    public enum Event: String, Sendable, CaseIterable {
        case request
        case loaded
        case loadFailed = "load_failed"
        case shown
        case showFailed = "show_failed"
        case clicked
        case dismissed
    }

    public var context: ReportContext
    public var event: Event
    public var unit: String?
    public var format: String?
    public var network: String?
    /// Why a load or a show failed: a number or a word of the ad SDK.
    public var errorCode: String?
    public var dismissDelayMilliseconds: Int64?
    /// What the app obeyed.
    public var state: ThrottleState?
    public var revision: Int64?
    /// How many equal events this one stands for: 1 to 1 000 000.
    public var count: Int

    public init(
        _ context: ReportContext, event: Event, unit: String? = nil, format: String? = nil,
        network: String? = nil, errorCode: String? = nil, dismissDelayMilliseconds: Int64? = nil,
        state: ThrottleState? = nil, revision: Int64? = nil, count: Int = 1
    ) {
        self.context = context
        self.event = event
        self.unit = unit
        self.format = format
        self.network = network
        self.errorCode = errorCode
        self.dismissDelayMilliseconds = dismissDelayMilliseconds
        self.state = state
        self.revision = revision
        self.count = count
    }
}
