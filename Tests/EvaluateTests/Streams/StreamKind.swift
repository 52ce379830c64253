// What kind of trouble a random stream is full of. A kind is a set of habits.

import BrakeModel

enum StreamKind: String, CaseIterable, Sendable {
    case late, future, repeats, drift, units, edges
    case lowSample, loopingDevice, relapses, gaps, manyApps
    case arrays, rejected, withoutIDs, orphans
    case launchFailure, silence, mixed

    /// Its place in the list, 0 ... 63: the low bits of a stream's seed.
    var number: UInt64 {
        UInt64(Self.allCases.firstIndex(of: self) ?? 0)
    }
}

/// How often what happens in a stream. Shares are probabilities for each event or upload.
struct StreamHabits {
    var apps = 2
    /// Uploads in the whole stream.
    var uploads = 80
    var startsPerUpload = 3...24
    var devices = 400
    var crashShareWell = 0.004
    var crashShareIll = 0.12
    /// The share of the stream's length that a phase, well or ill, takes at most.
    var phaseShare = 0.15
    var aliveShareWell = 0.95
    var aliveShareIll = 0.95
    /// The share of sessions in an ill phase that start at all.
    var startShareIll = 1.0

    var lateShare = 0.02
    var latestMilliseconds: Int64 = 600_000
    var futureShare = 0.01
    var repeatShare = 0.03
    var driftShare = 0.02
    var otherUnitShare = 0.1
    var edgeShare = 0.1
    var gapShare = 0.0

    var arrayShare = 0.85
    var badElementShare = 0.0
    var rejectedShare = 0.02
    var eventIDShare = 0.95
    var sessionIDShare = 0.95
    var sessionAtShare = 0.4
    var orphanShare = 0.05
    var againShare = 0.1
    var noiseShare = 0.1

    init(_ kind: StreamKind, random: inout SeededGenerator) {
        switch kind {
        case .late:
            lateShare = 0.5
            latestMilliseconds = 5_400_000
        case .future: futureShare = 0.4
        case .repeats: repeatShare = 0.7
        case .drift: driftShare = 0.6
        case .units: otherUnitShare = 1
        case .edges: edgeShare = 0.95
        case .lowSample:
            startsPerUpload = 0...2
            crashShareIll = 0.6
        case .loopingDevice:
            devices = 1
            crashShareIll = 0.9
            againShare = 0.6
        case .relapses:
            phaseShare = 0.06
            crashShareIll = 0.35
            uploads = 130
        case .gaps: gapShare = 0.06
        case .manyApps: apps = 150
        case .arrays:
            arrayShare = 1
            badElementShare = 0.15
        case .rejected: rejectedShare = 0.6
        case .withoutIDs:
            eventIDShare = 0.3
            sessionIDShare = 0.3
        case .orphans:
            orphanShare = 0.8
            sessionAtShare = 0.7
        case .launchFailure:
            apps = 1
            startsPerUpload = 15...40
            aliveShareIll = 0.1
            aliveShareWell = 0.97
            crashShareIll = 0.01
            phaseShare = 0.45
        case .silence:
            apps = 1
            startsPerUpload = 10...30
            startShareIll = 0.03
            crashShareWell = 0.02
            phaseShare = 0.25
        case .mixed: mix(&random)
        }
    }

    private mutating func mix(_ random: inout SeededGenerator) {
        func share(_ most: Double) -> Double {
            random.chance(0.4) ? 0 : most * Double(random.number(0...100)) / 100
        }
        apps = random.pick([1, 2, 5])
        devices = random.pick([1, 6, 40, 1_000])
        crashShareIll = share(0.5)
        phaseShare = random.pick([0.05, 0.1, 0.4])
        aliveShareIll = 1 - share(0.9)
        startShareIll = 1 - share(0.95)
        lateShare = share(0.4)
        futureShare = share(0.2)
        repeatShare = share(0.5)
        driftShare = share(0.4)
        otherUnitShare = share(1)
        edgeShare = share(0.7)
        gapShare = share(0.02)
        arrayShare = share(1)
        badElementShare = share(0.1)
        rejectedShare = share(0.3)
        eventIDShare = 1 - share(0.7)
        sessionIDShare = 1 - share(0.7)
        orphanShare = share(0.6)
        againShare = share(0.6)
        noiseShare = share(0.5)
    }
}
