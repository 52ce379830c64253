// What an event's own fields mean to the counts. Unknown words mean nothing and are no error.

internal import BrakeModel
internal import CSimdJSON

extension RawEvent {
    /// The event's type, which every record must say.
    @inline(__always)
    func eventType() throws(Rejection) -> EventType {
        switch type.length {
        case 7 where type.matches("session"): return .session
        case 5 where type.matches("crash"): return .crash
        case 10 where type.matches("soft_error"): return .softError
        case 8 where type.matches("ad_event"): return .adEvent
        default: throw .unknownType
        }
    }

    @inline(always)
    func meaning(as type: EventType) throws(Rejection) -> EventMeaning {
        switch type {
        case .session: try sessionMeaning()
        case .crash: try crashMeaning()
        case .softError: try softErrorMeaning()
        case .adEvent: try adEventMeaning()
        }
    }

    @inline(__always)
    private func sessionMeaning() throws(Rejection) -> EventMeaning {
        let isForeground = try foreground.bool(default: true)
        if phase.isAbsent || phase.matches("start") { return isForeground ? .start : .nothing }
        if phase.matches("alive") { return .alive }
        try phase.checkIsWord()
        return .nothing
    }

    private func crashMeaning() throws(Rejection) -> EventMeaning {
        try kind.checkIsWord()
        return try fatal.bool(default: true) ? .crash : .nothing
    }

    private func softErrorMeaning() throws(Rejection) -> EventMeaning {
        try severity.checkIsWord()
        try signal.checkIsWord()
        let isSignal =
            signal.matches("resign_during_ad") || signal.matches("memory_during_ad")
            || signal.matches("quit_after_ad") || signal.matches("slow_dismiss")
        return isSignal ? .signal : .softError
    }

    private func adEventMeaning() throws(Rejection) -> EventMeaning {
        try event.checkIsWord()
        let failure = try AdFailure(errorCode: errorCode, os: os)
        if event.matches("shown") { return .impression }
        if event.matches("dismissed"), dismissDelay.delayMilliseconds != nil {
            return .dismissal
        }
        let isFailed = event.matches("load_failed") || event.matches("show_failed")
        return isFailed && failure == .other ? .adFailure : .nothing
    }
}

/// Why an ad did not come: want of ads or of network is nobody's fault and not counted.
///
/// Numbers are those of the Google Mobile Ads SDKs, which differ by platform (`os` tells which):
///
/// | code | Android | iOS |
/// |---|---|---|
/// | 1 | invalid request | no fill |
/// | 2 | network error | network error |
/// | 3 | no fill | server error |
/// | 9 | mediation no fill | mediation no fill |
///
/// Without a known `os`, 1 and 3 count as no fill: what may be nobody's fault is not held against
/// the app. Words are compared by their letters alone, in any case: `no_fill`, `NO-FILL` and
/// `ERROR_CODE_NO_FILL` are one.
enum AdFailure: Equatable {
    case noFill
    case offline
    case other

    /// Longer words are none of ours.
    private static let wordBytesMax = 40

    init(errorCode: JSONSlice, os: JSONSlice) throws(Rejection) {
        switch errorCode.kind {
        case BRAKE_JSON_ABSENT, BRAKE_JSON_NULL, BRAKE_JSON_NEGATIVE, BRAKE_JSON_REAL:
            self = .other
        case BRAKE_JSON_INTEGER: self = AdFailure(code: errorCode.integer, os: os)
        case BRAKE_JSON_TEXT where Int(errorCode.length) <= AdFailure.wordBytesMax:
            self = AdFailure(word: errorCode.string, os: os)
        case BRAKE_JSON_TEXT: self = .other
        default: throw .badField
        }
    }

    private init(code: UInt64, os: JSONSlice) {
        let name = os.string.prefix(7).lowercased()
        switch code {
        case 1 where !name.hasPrefix("android"): self = .noFill
        case 2: self = .offline
        case 3 where !name.hasPrefix("ios") && !name.hasPrefix("ipados"): self = .noFill
        case 9: self = .noFill
        default: self = .other
        }
    }

    private init(word: String, os: JSONSlice) {
        if let code = UInt64(word) {
            self.init(code: code, os: os)
            return
        }
        let letters = word.lowercased().filter { $0.isLetter }
        if letters.hasSuffix("nofill") {
            self = .noFill
        } else if letters.hasSuffix("networkerror") || letters.hasSuffix("offline")
            || letters == "nonetwork" || letters == "noconnection"
        {
            self = .offline
        } else {
            self = .other
        }
    }
}
