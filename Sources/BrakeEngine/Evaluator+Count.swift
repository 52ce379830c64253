// How an event enters the counts.

import BrakeModel

extension Evaluator {
    /// Marks off what is remembered of crash events from what is remembered of crashed sessions.
    private static let crashedSessionSalt: UInt64 = 0x9e37_79b9_7f4a_7c15

    @inline(__always)
    mutating func count(_ event: Event, in slot: UInt32) {
        apps.slots[slot].lastSecond = now.second
        let time = EventTime(at: event.at, sent: event.sent, append: event.append)
        note(event, time)
        let second = Panes.second(ofMilliseconds: time.time)
        switch event.meaning {
        case .nothing: break
        case .start: countStart(event, at: second, in: slot)
        case .alive:
            add(.alive, at: second, in: slot)
            if plans[Int(apps.slots[slot].policy)].watchesAlive { touchIfWatched(slot) }
        case .crash: countCrash(event, at: time, in: slot)
        case .softError: add(.softErrors, at: second, in: slot)
        case .signal:
            add(.softErrors, at: second, in: slot)
            add(.signals, at: second, in: slot)
            countStress(event, at: second, in: slot)
        case .impression:
            addAds(.impressions, event, at: second, in: slot)
            if apps.slots[slot].isStressed { countStress(event, at: second, in: slot) }
        case .dismissal: countStress(event, at: second, in: slot)
        case .adFailure: addAds(.adFailures, event, at: second, in: slot)
        }
        // Its rows must be given back some time, even if nothing else asks for a look.
        if apps.slots[slot].due == AppSlot.notDue, !apps.slots[slot].isTouched {
            let plan = plans[Int(apps.slots[slot].policy)]
            schedule(slot, at: Self.releaseTick(plan, after: apps.slots[slot].lastSecond))
        }
    }

    private mutating func note(_ event: Event, _ time: EventTime) {
        tallied.events += 1
        tallied.convertedTimes += Int64(event.convertedTimes)
        if time.isShifted { tallied.shifted += 1 }
        if time.isFuture { tallied.future += 1 }
        if time.time < now.expiredBefore { tallied.expired += 1 }
        checksum &+= StableHash.combine(
            event.appHash ^ event.meaning.checksumBits,
            UInt64(bitPattern: time.time) ^ event.idHash ^ event.sessionHash)
    }

    private mutating func countStart(_ event: Event, at second: Int64, in slot: UInt32) {
        let isNew =
            event.sessionHash == 0
            || seenSessions.insert(
                StableHash.combine(event.appHash, event.sessionHash), append: event.append,
                clock: clock)
        if isNew {
            add(.sessions, at: second, in: slot)
        } else {
            tallied.repeats += 1
            add(.repeatedStarts, at: second, in: slot)
        }
        touchIfWatched(slot)
    }

    private mutating func countCrash(_ event: Event, at time: EventTime, in slot: UInt32) {
        let second = Panes.second(ofMilliseconds: time.time)
        touch(slot)
        if event.idHash != 0,
            !seenCrashes.insert(
                StableHash.combine(event.appHash, event.idHash), append: event.append, clock: clock)
        {
            tallied.repeats += 1
            add(.repeatedCrashes, at: second, in: slot)
            return
        }
        add(.crashes, at: second, in: slot)
        if event.deviceHash != 0 { addDevice(event.deviceHash, at: second, in: slot) }
        let sessionSecond = Panes.second(ofMilliseconds: sessionTime(of: event, crashedAt: time))
        var isNewlyCrashed = true
        if event.sessionHash != 0 {
            let session = StableHash.combine(event.appHash, event.sessionHash)
            if seenSessions.insert(session, append: event.append, clock: clock) {
                add(.sessions, at: sessionSecond, in: slot)
                add(.orphanSessions, at: sessionSecond, in: slot)
            }
            isNewlyCrashed = seenCrashes.insert(
                session ^ Self.crashedSessionSalt, append: event.append, clock: clock)
        }
        if isNewlyCrashed {
            add(.crashedSessions, at: sessionSecond, in: slot)
            add(.crashingSessions, at: second, in: slot)
        }
    }

    /// When the crashed session began: as the device says, if it can be so, else at the crash.
    private func sessionTime(of event: Event, crashedAt crash: EventTime) -> Int64 {
        guard event.sessionAt != Event.noTime else { return crash.time }
        let time = event.sessionAt + EventTime.drift(sent: event.sent, append: event.append)
        return min(time, crash.time)
    }

    private mutating func addDevice(_ device: UInt64, at second: Int64, in slot: UInt32) {
        // Without a row the crash lies before every window.
        guard let second = UInt32(exactly: second), !apps.slots[slot][.crashes].isNone else {
            return
        }
        if apps.slots[slot].devices == AppSlot.noDevices {
            if let free = freeDevices.popLast() {
                apps.slots[slot].devices = free
            } else {
                apps.slots[slot].devices = UInt32(devices.count)
                devices.append(CrashedDevices())
            }
        }
        devices[Int(apps.slots[slot].devices)].insert(device, at: second)
    }

    /// Adds one to a metric in every window that reaches this second.
    @inline(__always)
    private mutating func add(_ metric: Metric, at second: Int64, in slot: UInt32) {
        let head = apps.slots[slot].lastSecond
        guard let second = UInt32(exactly: second),
            head / 60 &- second / 60 < UInt32(Panes.perWindow)
        else { return }
        if !rows.add(to: &apps.slots[slot].rows[metric.rawValue], at: second, head: head) {
            tallied.saturated += 1
        }
    }

    /// Adds an ad event, which may stand for several.
    @inline(__always)
    private mutating func addAds(
        _ metric: Metric, _ event: Event, at second: Int64, in slot: UInt32
    ) {
        if event.count == 1 {
            add(metric, at: second, in: slot)
        } else {
            addSeveral(metric, event, at: second, in: slot)
        }
    }

    private mutating func addSeveral(
        _ metric: Metric, _ event: Event, at second: Int64, in slot: UInt32
    ) {
        let count = UInt32(clamping: event.count)
        checksum &+= StableHash.combine(event.appHash, UInt64(count))
        let head = apps.slots[slot].lastSecond
        guard let second = UInt32(exactly: second),
            head / 60 &- second / 60 < UInt32(Panes.perWindow)
        else { return }
        let refused = rows.add(
            count, to: &apps.slots[slot].rows[metric.rawValue], at: second, head: head)
        tallied.saturated += Int64(refused)
    }

    /// Has the app looked at, at its next tick.
    @inline(__always)
    mutating func touch(_ slot: UInt32) {
        guard !apps.slots[slot].isTouched else { return }
        apps.slots[slot].isTouched = true
        let policy = Int(apps.slots[slot].policy)
        if touched[policy].isEmpty {
            touchTicks[policy] = plans[policy].policy.tick(after: clock)
            nextDecision = min(nextDecision, touchTicks[policy])
        }
        touched[policy].append(slot)
    }

    /// Touches the app unless sessions alone can change nothing: it is Normal, nothing bad is in
    /// its windows, and it has too few sessions for silence or a launch failure to begin.
    @inline(__always)
    private mutating func touchIfWatched(_ slot: UInt32) {
        guard !apps.slots[slot].isTouched else { return }
        let policy = Int(apps.slots[slot].policy)
        if apps.slots[slot].brake.state == .normal, apps.slots[slot].isClean,
            !apps.slots[slot].brake.isSilent, !plans[policy].emptyIsUnhealthy,
            rows.sum(apps.slots[slot][.sessions], window: 2)
                + rows.sum(apps.slots[slot][.repeatedStarts], window: 2)
                < plans[policy].watchedSessions
        {
            return
        }
        touch(slot)
    }
}
