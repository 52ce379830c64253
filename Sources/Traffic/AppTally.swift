// What an app's devices have reported: the numbers that a correct count must find again.

/// How many facts of each kind were sent: all of them, and without repeats.
package struct AppTally: Sendable, Equatable {
    private var unique = [Int](repeating: 0, count: FactKind.allCases.count)
    private var repeated = [Int](repeating: 0, count: FactKind.allCases.count)
    /// Failures to load or to show, other than for want of ads or network; repeats included.
    package private(set) var adFailures = 0

    mutating func count(_ fact: Fact, isRepeat: Bool) {
        let kind = Int(fact.kind.rawValue)
        if isRepeat { repeated[kind] += 1 } else { unique[kind] += 1 }
        let isFailure = fact.kind == .adLoadFailed || fact.kind == .adShowFailed
        if isFailure && AdError(fact).isCounted { adFailures += 1 }
    }

    private func once(_ kinds: FactKind...) -> Int {
        kinds.reduce(0) { $0 + unique[Int($1.rawValue)] }
    }

    private func all(_ kinds: FactKind...) -> Int {
        kinds.reduce(0) { $0 + unique[Int($1.rawValue)] + repeated[Int($1.rawValue)] }
    }

    /// Foreground starts, each once.
    package var sessions: Int { once(.start) }
    package var backgroundStarts: Int { once(.backgroundStart) }
    /// Signs of life, each once.
    package var alive: Int { once(.alive) }
    /// Fatal crashes, each once.
    package var crashes: Int { once(.crash) }
    /// Sessions with a fatal crash; a session of ours crashes once at most.
    package var crashedSessions: Int { once(.crash) }
    package var nonFatalCrashes: Int { once(.nonFatal) }
    // These have no memory of repeats in the evaluation, so repeats count.
    package var softErrors: Int { all(.softError, .signal) }
    package var signals: Int { all(.signal) }
    package var impressions: Int { all(.adShown) }

    package var events: Int { unique.reduce(0, +) + repeated.reduce(0, +) }
    package var repeatedEvents: Int { repeated.reduce(0, +) }

    static func += (one: inout AppTally, other: AppTally) {
        for kind in one.unique.indices {
            one.unique[kind] += other.unique[kind]
            one.repeated[kind] += other.repeated[kind]
        }
        one.adFailures += other.adFailures
    }
}

/// Why an ad did not come, as ad SDKs say it: some with words, some with numbers.
enum AdError: UInt8, CaseIterable {
    case noFill, noNetwork, noNetworkCode, internalError, internalCode

    init(_ fact: Fact) {
        // Facts of failures have the index of one of ours.
        self = AdError(rawValue: fact.detail) ?? .internalError
    }

    /// Whether it is somebody's fault.
    var isCounted: Bool { self == .internalError || self == .internalCode }

    /// As the field's JSON value.
    var json: String {
        switch self {
        case .noFill: "\"no_fill\""
        case .noNetwork: "\"network_error\""
        case .noNetworkCode: "2"
        case .internalError: "\"internal_error\""
        case .internalCode: "0"
        }
    }
}
