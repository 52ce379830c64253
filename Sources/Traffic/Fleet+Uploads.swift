// From facts to uploads: by each device, or through a relay that fills batches; sometimes twice.
internal import BrakeModel

extension Fleet {
    /// How often the answer to an upload is lost, so that the device sends the same again.
    private static let lostAnswerShare = 0.01
    private static let appVersion = "4.12.0"
    private static let troubledVersion = "4.13.0"

    /// Sends a device's facts, and empties the list.
    mutating func upload(_ list: inout FactList, of device: Int) {
        guard !list.isEmpty else { return }
        send(list, of: device, isRepeat: false)
        guard random.chance(Self.lostAnswerShare) else {
            facts.remove(&list)
            return
        }
        let delivery = Delivery(device: Int32(device), facts: list, isRepeat: true)
        list = FactList()
        agenda.add(.delivery, deliveries.add(delivery), at: now + random.number(2_000...10_000))
    }

    /// Brings facts that come late or again.
    mutating func deliver(delivery index: Int) {
        var delivery = deliveries[index]
        deliveries.remove(index)
        let device = Int(delivery.device)
        if delivery.isRepeat {
            send(delivery.facts, of: device, isRepeat: true)
            facts.remove(&delivery.facts)
        } else {
            upload(&delivery.facts, of: device)
        }
    }

    private mutating func send(_ list: FactList, of index: Int, isRepeat: Bool) {
        let device = devices[index]
        let app = Int(device.app)
        let sent = realTime(at: now)
        let build = build(of: app)
        var cursor = FactCursor(list)
        while let fact = facts.next(&cursor) {
            writer.add(fact, of: device, index: index, build: build, now: sent)
            apps[app].tally.count(fact, isRepeat: isRepeat)
            if writer.events == limit { uploads.append(writer.finish()) }
        }
        if settings.batch == 0 {
            finishUpload()
        } else if !isRelayDue && writer.events > 0 {
            isRelayDue = true
            let wait = Self.relayWaitMilliseconds * settings.speed
            agenda.add(.relay, 0, at: now + max(1, Int64(wait)))
        }
    }

    private var limit: Int { settings.batch == 0 ? FleetSettings.batchMax : settings.batch }

    mutating func finishUpload() {
        guard writer.events > 0 else { return }
        uploads.append(writer.finish())
    }

    /// Builds that die at launch are new ones.
    private func build(of app: Int) -> String {
        for trouble in settings.scenario.troubles where trouble.isActive(at: now / 1_000, app: app)
        {
            if case .launchCrash = trouble.kind { return Self.troubledVersion }
        }
        return Self.appVersion
    }
}
