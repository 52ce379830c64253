// What a fleet is made of, before it begins to live.
package import BrakeModel

/// Size, pace and fate of a fleet.
package struct FleetSettings: Sendable {
    /// More apps than this are not a fleet to be played by one process.
    package static let appsMax = 100_000
    /// The most events of one upload, as the collector has it.
    package static let batchMax = 1_000

    package var scenario: Scenario
    package var seed: UInt64
    /// The wall clock when the world begins, ms since 1970.
    package var start: Int64
    package var apps: Int
    /// Events per second of real time, when all is well and the fleet has warmed up.
    package var eventsPerSecond: Double
    /// Seconds of the world per second of real time.
    package var speed: Double
    /// 0: each device uploads by itself; else a relay gathers so many events for an upload.
    package var batch: Int

    package init(
        scenario: Scenario, seed: UInt64, start: Int64, apps: Int = 6,
        eventsPerSecond: Double = 100, speed: Double = 1, batch: Int = 0
    ) {
        precondition((1...Self.appsMax).contains(apps), "a fleet has apps, but not too many")
        precondition((0...Self.batchMax).contains(batch), "a batch fits an upload")
        precondition(eventsPerSecond > 0 && speed > 0, "a fleet lives")
        self.scenario = scenario
        self.seed = seed
        self.start = start
        self.apps = apps
        self.eventsPerSecond = eventsPerSecond
        self.speed = speed
        self.batch = batch
    }

    private static let names = [
        "puzzle-garden", "word-rush", "daily-steps", "photo-frame", "night-radio", "star-miner",
    ]

    /// The ids of the apps: a few with names, the others numbered.
    package func appIDs() -> [AppID] {
        (0..<apps).compactMap { index in
            AppID(index < Self.names.count ? Self.names[index] : "app-\(index + 1)")
        }
    }
}

/// What is sent at once.
package struct FleetUpload: Sendable, Equatable {
    /// A JSON array of events.
    package var bytes: [UInt8]
    package var events: Int
}
