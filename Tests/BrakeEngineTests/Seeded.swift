// Random numbers and events by seed, for tests of the engine.

import BrakeModel

/// Seeded numbers; neighbouring seeds begin far from one another.
struct Seeded: RandomNumberGenerator {
    private var source: SeededGenerator
    init(_ seed: UInt64) { source = SeededGenerator(seed: seed &* 0x9e37_79b9_7f4a_7c15) }

    mutating func next() -> UInt64 { source.next() }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// A stream of events in batches, with crashes, repeats, late and early times, and pauses.
struct EventStream {
    var batches: [EventBatch] = []

    init(seed: UInt64, batches count: Int = 40, apps: Int = 6, start: Int64 = 1_700_000_000_000) {
        var random = Seeded(seed)
        var append = start
        for _ in 0..<count {
            var batch = EventBatch()
            for _ in 0..<random.below(200) {
                append += Int64(random.below(400))
                if random.below(400) == 0 { append += Int64(random.below(900_000)) }
                guard let app = AppID("app-\(random.below(apps))") else { continue }
                batch.add(Self.event(append: append, &random), app: app)
            }
            batches.append(batch)
        }
    }

    private static func event(append: Int64, _ random: inout Seeded) -> Event {
        let meanings: [EventMeaning] = [
            .start, .start, .start, .start, .alive, .alive, .crash, .softError, .impression,
            .adFailure, .signal, .nothing,
        ]
        let id = UInt64(random.below(5_000) + 1)
        let meaning = meanings[random.below(meanings.count)]
        var event = Event(
            appHash: 0, meaning: meaning, append: append,
            at: append - Int64(random.below(120_000)) + 5_000,
            sent: random.below(4) == 0 ? append - Int64(random.below(200_000)) : Event.noTime,
            sessionAt: random.below(3) == 0 ? append - Int64(random.below(400_000)) : Event.noTime,
            idHash: random.below(10) == 0 ? 0 : id, sessionHash: random.below(12) == 0 ? 0 : id,
            deviceHash: UInt64(random.below(50)))
        if meaning == .impression || meaning == .adFailure {
            event.count = random.below(5) == 0 ? Int64(random.below(70_000) + 1) : 1
        }
        return event
    }
}
