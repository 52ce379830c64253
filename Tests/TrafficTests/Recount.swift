// Counts what uploads say, from their bytes alone, by the decoder that the evaluation uses.
import BrakeModel
import BrakeWire

@testable import Traffic

/// The uploads of one run, counted anew.
struct Recount {
    /// What one app's records say.
    struct App {
        var sessions: Set<UInt64> = []
        var alive: Set<UInt64> = []
        var crashes: Set<UInt64> = []
        var crashedSessions: Set<UInt64> = []
        var crashedDevices: Set<UInt64> = []
        var impressions = 0
        var adFailures = 0
        var softErrors = 0
        var signals = 0
    }

    private(set) var events = 0
    private(set) var rejected = 0
    private(set) var apps: [String: App] = [:]
    /// How often each event id was met.
    private(set) var occurrences: [UInt64: Int] = [:]
    private(set) var decoded: [Event] = []

    private let splitter = UploadSplitter()
    private let decoder = EventDecoder(hashing: .all)

    /// Takes an upload that the log takes at this time.
    mutating func add(_ upload: FleetUpload, append: Int64) throws {
        let split = try unsafe upload.bytes.withUnsafeBytes { bytes throws(UploadRefusal) in
            unsafe try splitter.split(bytes)
        }
        rejected += split.rejected.count
        events += split.accepted
        for record in split.records {
            var batch = EventBatch()
            var rejections: [RejectedEvent] = []
            unsafe record.value.withUnsafeBytes { value in
                unsafe decoder.decode(
                    value, append: append, into: &batch, rejected: &rejections)
            }
            rejected += rejections.count
            for event in batch.events { count(event, of: record.app.text) }
            decoded += Array(batch.events)
        }
    }

    private mutating func count(_ event: Event, of app: String) {
        occurrences[event.idHash, default: 0] += 1
        switch event.meaning {
        case .start: apps[app, default: App()].sessions.insert(event.sessionHash)
        case .alive: apps[app, default: App()].alive.insert(event.idHash)
        case .crash:
            apps[app, default: App()].crashes.insert(event.idHash)
            apps[app, default: App()].crashedSessions.insert(event.sessionHash)
            apps[app, default: App()].crashedDevices.insert(event.deviceHash)
        case .impression: apps[app, default: App()].impressions += 1
        case .adFailure: apps[app, default: App()].adFailures += 1
        case .softError: apps[app, default: App()].softErrors += 1
        case .signal:
            apps[app, default: App()].softErrors += 1
            apps[app, default: App()].signals += 1
        case .nothing, .dismissal: break
        }
    }
}

/// Plays a fleet without a network.
struct Playing {
    static let start: Int64 = 1_764_479_000_000

    var fleet: Fleet
    var uploads: [FleetUpload] = []
    var recount = Recount()
    /// Decoding takes most of the time, and some tests have enough in the fleet's own counts.
    let isRecounted: Bool

    init(
        _ scenario: Scenario, seed: UInt64 = 7, apps: Int = 3, rate: Double = 200,
        speed: Double = 1, batch: Int = 0, isRecounted: Bool = true
    ) {
        self.isRecounted = isRecounted
        fleet = Fleet(
            FleetSettings(
                scenario: scenario, seed: seed, start: Self.start, apps: apps,
                eventsPerSecond: rate, speed: speed, batch: batch))
    }

    /// Events sent so far, by the fleet's own counts.
    var events: Int { fleet.tallies.reduce(0) { $0 + $1.tally.events } }

    /// Ends the run: what a relay still holds is sent.
    mutating func finish() throws {
        for upload in fleet.finish() {
            try recount.add(upload, append: fleet.realTime(at: fleet.now))
            uploads.append(upload)
        }
    }

    /// Lives on to this second of the world's time, in steps of a quarter of a second.
    mutating func live(until second: Int64) throws {
        while fleet.now < second * 1_000 {
            let time = min(fleet.now + 250, second * 1_000)
            let brought = fleet.advance(to: time)
            guard isRecounted else { continue }
            for upload in brought {
                try recount.add(upload, append: fleet.realTime(at: time))
                uploads.append(upload)
            }
        }
    }
}
