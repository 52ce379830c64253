// A fleet of apps on devices: a seeded world that lives by a clock given from outside. Pure: the
// same settings, times and states give the same bytes.
package import BrakeModel

/// Apps, their devices and sessions, and what they report.
///
/// The world has its own time, ms from 0, which runs `speed` times as fast as real time. Records
/// say real times: `start` plus world time by speed, as each device's clock tells it.
package struct Fleet: Sendable {
    /// Events of a session of a few ads, on average; measured, and kept true by a test.
    static let eventsPerSession = 17.9
    /// How often a device starts a session, on average.
    static let secondsPerDevice = 300.0
    /// The length of a session, on average.
    static let sessionMilliseconds = 70_000.0
    static let wakeUpMilliseconds: Int64 = 15_000
    static let devicesMax = 1_000_000
    static let devicesMin = 20
    /// How long a relay waits for a full batch, ms of real time.
    static let relayWaitMilliseconds = 1_000.0

    /// An app's place in the fleet.
    struct App: Sendable {
        let id: AppID
        let firstDevice: Int
        let deviceCount: Int
        /// Session starts per ms of world time, when all is well.
        let startsPerMillisecond: Double
        var tally = AppTally()
        /// What its devices obey, when they know.
        var state: ThrottleState?
        var revision: Int64 = 0
        /// The SDK's sample: a device below it shows all ads in Caution.
        let sampleSalt: UInt64
    }

    /// Facts on their way, late or again.
    struct Delivery: Sendable {
        var device: Int32
        var facts: FactList
        var isRepeat: Bool
    }

    let settings: FleetSettings
    var random: SeededGenerator
    var agenda = Agenda()
    var apps: ContiguousArray<App> = []
    var devices: ContiguousArray<Device> = []
    var sessions = Slots<Session>()
    var deliveries = Slots<Delivery>()
    var facts = FactPool()
    var writer: RecordWriter
    var uploads: [FleetUpload] = []
    var factNumber: UInt64 = 0
    var sessionNumber: UInt64 = 0
    var isRelayDue = false
    /// World time reached, ms.
    package private(set) var now: Int64 = 0
    /// How long the world has been held up, ms of real time.
    private var delay: Int64 = 0

    /// Makes the fleet. O(number of devices).
    package init(_ settings: FleetSettings) {
        self.settings = settings
        random = SeededGenerator(seed: settings.seed)
        writer = RecordWriter(settings: settings)
        let ids = settings.appIDs()
        let weights = ids.indices.map { 1 / Double($0 + 3) }
        let sum = weights.reduce(0, +)
        let startsPerSecond = settings.eventsPerSecond / settings.speed / Self.eventsPerSession
        for (index, id) in ids.enumerated() {
            let starts = startsPerSecond * weights[index] / sum
            let share = max(Self.devicesMin, Self.devicesMax / ids.count)
            let count = min(max(Int(starts * Self.secondsPerDevice), Self.devicesMin), share)
            apps.append(
                App(
                    id: id, firstDevice: devices.count, deviceCount: count,
                    startsPerMillisecond: starts / 1_000, sampleSalt: random.next()))
            for _ in 0..<count { devices.append(Device(app: index, random: &random)) }
            planArrival(app: index, after: 0)
        }
        for index in apps.indices {
            planLoops(app: index)
            wakeUp(app: index)
        }
    }

    /// What has been sent, by app; uploads made by `advance` count as sent.
    package var tallies: [(app: AppID, tally: AppTally)] { apps.map { ($0.id, $0.tally) } }

    /// Lets the devices of an app know its state, from now on.
    package mutating func obey(app: Int, state: ThrottleState, revision: Int64) {
        apps[app].state = state
        apps[app].revision = revision
    }

    /// The world stands still for so long in real time: records to come are that much later.
    package mutating func holdUp(milliseconds: Int64) {
        delay += max(0, milliseconds)
    }

    /// Real time at a world time, ms since 1970.
    package func realTime(at world: Int64) -> Int64 {
        settings.start + delay + Int64(Double(world) / settings.speed)
    }

    /// World time at a real time.
    package func worldTime(at real: Int64) -> Int64 {
        Int64(Double(real - settings.start - delay) * settings.speed)
    }

    /// Lives until the world time, and returns what is to be sent, in order.
    package mutating func advance(to time: Int64) -> [FleetUpload] {
        precondition(time >= now, "time does not go back")
        while let next = agenda.next(until: time) {
            now = next.time
            let subject = Int(next.subject)
            switch next.purpose {
            case .arrival: arrive(app: subject)
            case .step: step(subject)
            case .relaunch: relaunch(device: subject)
            case .delivery: deliver(delivery: subject)
            case .relay:
                isRelayDue = false
                finishUpload()
            }
        }
        now = time
        defer { uploads = [] }
        return uploads
    }

    /// What a relay still holds, at the end.
    package mutating func finish() -> [FleetUpload] {
        finishUpload()
        defer { uploads = [] }
        return uploads
    }

    private mutating func arrive(app: Int) {
        planArrival(app: app, after: now)
        guard random.chance(settings.scenario.level(at: now / 1_000, app: app)) else { return }
        // A device in use has no second session; after a few tries the person does something else.
        for _ in 0..<4 {
            let device = apps[app].firstDevice + random.index(apps[app].deviceCount)
            guard !devices[device].isBusy && !devices[device].isLooping else { continue }
            startSession(device: device)
            return
        }
    }

    private mutating func planArrival(app: Int, after time: Int64) {
        let wait = random.waitingTime(mean: 1 / apps[app].startsPerMillisecond)
        // A week at most, so that the sum stays a time.
        agenda.add(.arrival, app, at: time + 1 + Int64(min(wait, 604_800_000)))
    }

    /// People who were in the middle of a session when the world began open the app again, so that
    /// traffic is soon what it will be. As sessions have no memory of how long they have lasted,
    /// these are like all others.
    private mutating func wakeUp(app: Int) {
        let level = settings.scenario.level(at: 0, app: app)
        let count = apps[app].startsPerMillisecond * Self.sessionMilliseconds * level
        for _ in 0..<Int(count + random.fraction()) {
            let device = apps[app].firstDevice + random.index(apps[app].deviceCount)
            guard !devices[device].isLooping else { continue }
            agenda.add(.relaunch, device, at: random.number(0...Self.wakeUpMilliseconds))
        }
    }

    /// A looping device launches first when its trouble begins.
    private mutating func planLoops(app: Int) {
        for trouble in settings.scenario.troubles where trouble.affects(app: app) {
            guard case .crashLoop = trouble.kind else { continue }
            devices[apps[app].firstDevice].isLooping = true
            agenda.add(.relaunch, apps[app].firstDevice, at: trouble.from * 1_000)
        }
    }

    private mutating func relaunch(device: Int) {
        guard !devices[device].isBusy else { return }
        startSession(device: device)
    }
}
