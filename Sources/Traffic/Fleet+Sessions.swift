// The life of a session: start, first sign of life, ads, end or crash.
internal import BrakeModel

extension Fleet {
    private static let aliveMilliseconds: Int64 = 10_000
    private static let uploadMilliseconds: Int64 = 30_000
    private static let sessionSecondsMean = 65.0
    /// Few people leave before the first sign of life.
    private static let sessionMillisecondsMin: Int64 = 8_000
    private static let sessionMillisecondsMax: Int64 = 900_000
    private static let backgroundShare = 0.1
    /// How much of the crashes for no special reason an ad SDK has its part in.
    private static let adShareOfCrashes = 0.6

    mutating func startSession(device: Int) {
        let app = Int(devices[device].app)
        let loop = activeLoop(of: device)
        let isForeground = loop != nil || !random.chance(Self.backgroundShare)
        let length = min(
            Self.sessionMillisecondsMin
                + Int64(random.waitingTime(mean: Self.sessionSecondsMean * 1_000)),
            Self.sessionMillisecondsMax)
        sessionNumber += 1
        var session = Session(
            device: Int32(device), app: Int32(app), number: sessionNumber,
            startedAt: realTime(at: now), isForeground: isForeground,
            isOffline: devices[device].isOftenOffline && random.chance(0.5),
            usesAds: isForeground && apps[app].state != .halt,
            aliveAt: now + Self.aliveMilliseconds, adAt: Session.never,
            uploadAt: now + random.number(50...300),
            endsAt: now + (isForeground ? length : random.number(1_000...8_000)), ending: .quiet)
        if session.usesAds {
            session.adFormat = random.chance(0.4) ? .appOpen : .banner
            session.adAt = now + random.number(800...2_500)
        }
        if let loop {
            crashAtLaunch(&session, loop)
        } else if isForeground {
            decideEnd(of: &session)
        }
        facts.move(&devices[device].waiting, to: &session.waiting)
        add(isForeground ? .start : .backgroundStart, to: &session)
        devices[device].isBusy = true
        let index = sessions.add(session)
        agenda.add(.step, index, at: session.nextAt)
    }

    /// Whether this session will crash of itself, and when.
    private mutating func decideEnd(of session: inout Session) {
        for trouble in settings.scenario.troubles
        where trouble.isActive(at: now / 1_000, app: Int(session.app)) {
            guard case .launchCrash(let share) = trouble.kind, random.chance(share) else {
                continue
            }
            session.ending = .silent
            session.endsAt = now + random.number(400...3_000)
            session.adAt = Session.never
            return
        }
        let share = settings.scenario.crashShare
        let present = session.usesAds ? 1 : 1 - Self.adShareOfCrashes
        guard random.chance(share * present) else { return }
        session.ending = .crash
        session.crashKind = UInt8(random.index(Int(RecordWriter.launchKind)))
    }

    /// The crash loop that a device is in, by its crashes per minute.
    private func activeLoop(of device: Int) -> Int? {
        let app = Int(devices[device].app)
        guard devices[device].isLooping else { return nil }
        for trouble in settings.scenario.troubles where trouble.isActive(at: now / 1_000, app: app)
        {
            if case .crashLoop(let perMinute) = trouble.kind { return perMinute }
        }
        return nil
    }

    private func crashAtLaunch(_ session: inout Session, _ perMinute: Int) {
        session.ending = .crash
        session.crashKind = RecordWriter.launchKind
        // The other half of the cycle passes before the next launch.
        session.endsAt = now + Int64(30_000 / perMinute)
        session.adAt = Session.never
        session.uploadAt = now
        session.isOffline = false
    }

    /// Does what is due in a session, and plans what comes next.
    mutating func step(_ index: Int) {
        if sessions[index].adAt <= now && sessions[index].endsAt > now { stepAd(index) }
        var session = sessions[index]
        if session.aliveAt <= now {
            session.aliveAt = Session.never
            add(.alive, to: &session)
            session.uploadAt = now
            if random.chance(0.01) { addSoftError(to: &session) }
        }
        if session.endsAt <= now {
            end(&session)
            sessions.remove(index)
            return
        }
        if session.uploadAt <= now {
            session.uploadAt = now + Self.uploadMilliseconds
            if !session.isOffline { upload(&session.waiting, of: Int(session.device)) }
        }
        sessions[index] = session
        agenda.add(.step, index, at: session.nextAt)
    }

    private mutating func end(_ session: inout Session) {
        let device = Int(session.device)
        devices[device].isBusy = false
        switch session.ending {
        case .quiet:
            add(.end, to: &session)
            if random.chance(0.002) { addNonFatal(to: &session) }
            finish(&session)
        case .silent:
            facts.move(&session.waiting, to: &devices[device].waiting)
        case .crash:
            add(crash: .crash, to: &session)
            // Some reporters send before the process dies; the others at its next launch.
            if random.chance(0.25) && !session.isOffline {
                upload(&session.waiting, of: device)
            } else {
                facts.move(&session.waiting, to: &devices[device].waiting)
            }
        }
        planRelaunch(of: device, after: session.ending)
    }

    /// Sends what is left, at once or when the network is back.
    private mutating func finish(_ session: inout Session) {
        guard session.isOffline else {
            upload(&session.waiting, of: Int(session.device))
            return
        }
        let delivery = Delivery(
            device: session.device, facts: session.waiting, isRepeat: false)
        session.waiting = FactList()
        let wait = random.number(60_000...2_400_000)
        agenda.add(.delivery, deliveries.add(delivery), at: now + wait)
    }

    /// After a crash most people try again soon, others another day.
    private mutating func planRelaunch(of device: Int, after ending: Session.Ending) {
        if let perMinute = activeLoop(of: device) {
            agenda.add(.relaunch, device, at: now + Int64(30_000 / perMinute))
        } else if ending != .quiet && random.chance(0.75) {
            agenda.add(.relaunch, device, at: now + random.number(2_000...30_000))
        }
    }

    // MARK: Facts

    mutating func add(_ kind: FactKind, to session: inout Session) {
        add(fact(kind, session), to: &session)
    }

    mutating func add(_ fact: Fact, to session: inout Session) {
        facts.append(fact, to: &session.waiting)
        if settings.batch > 0 && !session.isOffline { session.uploadAt = now }
    }

    mutating func fact(_ kind: FactKind, _ session: Session) -> Fact {
        factNumber += 1
        return Fact(
            kind: kind, number: factNumber, session: session.number, at: realTime(at: now),
            sessionAt: session.startedAt)
    }

    private mutating func add(crash kind: FactKind, to session: inout Session) {
        var fact = fact(kind, session)
        fact.detail = session.crashKind
        fact.trouble = session.trouble
        add(fact, to: &session)
    }

    private mutating func addNonFatal(to session: inout Session) {
        add(crash: .nonFatal, to: &session)
    }

    private mutating func addSoftError(to session: inout Session) {
        var fact = fact(.softError, session)
        fact.detail = UInt8(random.index(RecordWriter.softErrorCount))
        add(fact, to: &session)
    }

    mutating func addSignal(_ signal: UInt8, to session: inout Session) {
        var fact = fact(.signal, session)
        fact.detail = signal
        add(fact, to: &session)
    }
}
