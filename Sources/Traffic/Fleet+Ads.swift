// Ads within a session: request, load, show, click, dismiss; what may be shown; what crashes.
internal import BrakeModel

extension Fleet {
    private static let loadFailureShare = 0.08
    private static let showFailureShare = 0.01
    private static let clickShare = 0.03
    private static let rewardedAskedShare = 0.5

    /// Takes the next step of the session's ad.
    mutating func stepAd(_ index: Int) {
        var session = sessions[index]
        switch session.adPhase {
        case .request: request(&session)
        case .answer: answer(&session)
        case .show: show(&session)
        case .click:
            if random.chance(Self.clickShare) { addAd(.adClicked, to: &session) }
            session.adPhase = .dismiss
            session.adAt = now + random.number(1_000...6_000)
        case .dismiss: dismiss(&session)
        }
        sessions[index] = session
    }

    private mutating func request(_ session: inout Session) {
        guard isAllowed(session.adFormat, session) else {
            planNextAd(&session)
            return
        }
        session.adNetwork = UInt8(random.index(RecordWriter.networkCount))
        addAd(.adRequest, to: &session)
        session.adPhase = .answer
        session.adAt = now + random.number(150...1_500)
    }

    private mutating func answer(_ session: inout Session) {
        if random.chance(Self.loadFailureShare) {
            addAd(.adLoadFailed, to: &session, detail: UInt8(random.index(AdError.allCases.count)))
            planNextAd(&session)
            return
        }
        addAd(.adLoaded, to: &session)
        session.adPhase = .show
        session.adAt = now + random.number(100...2_000)
    }

    private mutating func show(_ session: inout Session) {
        // The state may have become stricter since the request.
        guard isAllowed(session.adFormat, session) else {
            planNextAd(&session)
            return
        }
        if random.chance(Self.showFailureShare) {
            let detail = AdError.internalError.rawValue
            addAd(.adShowFailed, to: &session, detail: detail)
            planNextAd(&session)
            return
        }
        addAd(.adShown, to: &session)
        if crashes(&session) {
            session.adAt = Session.never
            return
        }
        guard session.adFormat.isFullScreen else {
            if random.chance(Self.clickShare / 3) { addAd(.adClicked, to: &session) }
            planNextAd(&session)
            return
        }
        session.adPhase = .click
        session.adAt = now + random.number(500...4_000)
    }

    private mutating func dismiss(_ session: inout Session) {
        var fact = adFact(.adDismissed, session, detail: 0)
        let isSlow = random.chance(0.01)
        fact.dismissDelay = UInt32(random.number(isSlow ? 5_000...12_000 : 150...900))
        add(fact, to: &session)
        if isSlow { addSignal(RecordWriter.slowDismiss, to: &session) }
        if random.chance(0.01) { addSignal(UInt8(random.index(2)), to: &session) }
        planNextAd(&session)
        if random.chance(0.02) {
            // Annoyed: the person leaves.
            addSignal(RecordWriter.quitAfterAd, to: &session)
            session.endsAt = min(session.endsAt, now + random.number(500...2_000))
        }
    }

    private mutating func planNextAd(_ session: inout Session) {
        session.adFormat =
            switch random.index(100) {
            case ..<45: .banner
            case ..<60: .native
            case ..<85: .interstitial
            case ..<95: .rewarded
            default: .rewardedInterstitial
            }
        session.adPhase = .request
        session.adAt = now + random.number(6_000...16_000)
    }

    /// Whether the ad SDK takes the app down with it now.
    private mutating func crashes(_ session: inout Session) -> Bool {
        let second = now / 1_000
        for (index, trouble) in settings.scenario.troubles.enumerated() {
            guard case .adCrash(let share, let formats, _) = trouble.kind,
                trouble.isActive(at: second, app: Int(session.app)),
                formats.contains(session.adFormat), random.chance(share)
            else { continue }
            session.ending = .crash
            session.crashKind = UInt8(random.index(2))
            session.trouble = UInt8(index)
            session.endsAt = min(session.endsAt, now + random.number(50...700))
            return true
        }
        return false
    }

    /// What the state lets a device show; without a state it shows what it likes.
    private mutating func isAllowed(_ format: AdFormat, _ session: Session) -> Bool {
        let app = apps[Int(session.app)]
        guard let state = app.state else { return true }
        switch (state, format) {
        case (.halt, _): return false
        case (.normal, _), (_, .banner), (_, .native): return true
        case (.throttle, .rewarded): return random.chance(Self.rewardedAskedShare)
        case (_, .rewarded): return true
        case (.caution, _): return isInSample(device: Int(session.device), app)
        case (.throttle, _): return false
        }
    }

    /// The stable half of an app's devices that shows all ads in Caution.
    func isInSample(device: Int, _ app: App) -> Bool {
        let identity = writer.identity(ofDevice: device)
        return SeededGenerator.mixed(identity ^ app.sampleSalt) & 1 == 0
    }

    private mutating func addAd(
        _ kind: FactKind, to session: inout Session, detail: UInt8 = 0
    ) {
        add(adFact(kind, session, detail: detail), to: &session)
    }

    private mutating func adFact(_ kind: FactKind, _ session: Session, detail: UInt8) -> Fact {
        var fact = fact(kind, session)
        fact.format = session.adFormat
        fact.network = session.adNetwork
        fact.detail = detail
        let app = Int(session.app)
        fact.state = apps[app].state?.rawValue ?? 255
        fact.revision = apps[app].revision
        return fact
    }
}
