// One simulated system: a log, lanes, edges, apps and faults, in one thread and from one seed.

import Evaluate
import EventLog
import Runtime
import Serve

/// What a run has gone through.
package struct WorldFigures: Sendable {
    package var steps = 0
    package var records = 0
    package var epochs = 0
    package var changes = 0
    /// Apps whose stress was known at the end.
    package var stressed = 0
    package var events: Int64 = 0
    package var stragglers: Int64 = 0
    package var snapshots = 0
    package var faults: [FaultKind: Int] = [:]
    /// Calls that failed and were tried again, and lanes that were refused.
    package var retries = 0
    /// Of people.
    package var decisions = 0
    package var fenced = 0

    package static func += (sum: inout WorldFigures, other: WorldFigures) {
        sum.steps += other.steps
        sum.records += other.records
        sum.epochs += other.epochs
        sum.changes += other.changes
        sum.stressed += other.stressed
        sum.events += other.events
        sum.stragglers += other.stragglers
        sum.snapshots += other.snapshots
        sum.faults.merge(other.faults, uniquingKeysWith: +)
        sum.retries += other.retries
        sum.decisions += other.decisions
        sum.fenced += other.fenced
    }
}

/// Runs a seed. What happens depends on the seed alone; what is wrong is in `findings`.
package final class World {
    /// A lane of the system, or a place where one was.
    struct Seat {
        var lane: EvaluatorLane?
        /// The step from which on it runs, again or at all.
        var from = 0
    }

    /// An edge, and what it has shown of each app.
    struct Follower {
        var edge: Edge
        var follower: TableFollower
        var from = 0
        var revisions: [String: Int64] = [:]
    }

    /// Quiet steps after which everything should have been read and told.
    private static let quietStepsMax = 3_000
    private static let findingsMax = 20

    let seed: UInt64
    let canary: Canary?
    let time = SimulatedTime()
    let log: SteeredLog
    let circumstances: Circumstances
    let mix: FaultMix
    let told = CapturedLog()
    let metrics = Metrics()
    let evaluateMetrics: EvaluateMetrics
    var random: SimulationRandom
    var workload: Workload
    var people: PeopleWhoDecide
    var seats: [Seat] = []
    var zombies: [EvaluatorLane] = []
    var followers: [Follower] = []
    /// Steering that ends at a step.
    var stallsEnd: [TopicPartition: Int] = [:]
    var networkEnd = 0
    var damaged: Set<TopicPartition.Offset> = []
    /// Records of throttle that no lane has written.
    var forged: Set<TopicPartition.Offset> = []
    /// What retention has deleted, for the checkers.
    var deleted: [TopicPartition: [PartitionRecords.Deleted]] = [:]
    var latestWall: Int64
    package var figures = WorldFigures()
    package private(set) var findings: [String] = []

    package init(seed: UInt64, canary: Canary? = nil) {
        self.seed = seed
        self.canary = canary
        var random = SimulationRandom(seed: seed)
        circumstances = Circumstances(&random)
        mix = FaultMix(&random)
        workload = Workload(
            apps: circumstances.apps, partitions: circumstances.partitions,
            random: random.split())
        people = PeopleWhoDecide(apps: workload.appIDs, random: random.split())
        var steering = Steering(seed: random.next())
        steering.pieceBytes = circumstances.pieceBytes
        steering.heldShare = circumstances.heldShare
        steering.answerAge = circumstances.answerAge
        steering.canary = canary
        log = SteeredLog(
            MemoryLog(
                partitions: circumstances.partitions, clock: time.logClock,
                hasMarkers: random.chance(0.8)), steering)
        evaluateMetrics = EvaluateMetrics(metrics)
        latestWall = time.wall
        self.random = random
        seats = (0..<circumstances.lanes).map { Seat(lane: makeLane($0)) }
        followers = (0..<circumstances.edges).map { _ in makeFollower() }
    }

    /// Lives through the faults, then in quiet until all is settled, then checks.
    package func run() {
        while figures.steps < circumstances.steps, findings.isEmpty { step() }
        if findings.isEmpty { settle() }
        if findings.isEmpty { check() }
    }

    func find(_ finding: String) {
        if findings.count < Self.findingsMax { findings.append(finding) }
    }

    func makeLane(_ number: Int) -> EvaluatorLane {
        EvaluatorLane(
            log: log, lane: number, settings: circumstances.settings,
            logger: Logger(part: "evaluate", to: told), metrics: evaluateMetrics,
            clocks: time.clocks)
    }

    func makeFollower() -> Follower {
        let edge = Edge(
            log: log, settings: ServeSettings(), logger: Logger(part: "serve", to: told),
            metrics: Metrics(), clock: time.logClock)
        return Follower(edge: edge, follower: edge.makeFollower())
    }

    // MARK: A step

    private func step() {
        figures.steps += 1
        time.pass(random.number(1...circumstances.paceMilliseconds))
        report()
        decide()
        for kind in mix.faults(&random) {
            figures.faults[kind, default: 0] += 1
            happen(kind)
        }
        endSteering()
        for number in seats.indices where random.chance(0.8) { stepLane(number) }
        stepZombie()
        for index in followers.indices where random.chance(0.5) { stepFollower(index) }
        latestWall = max(latestWall, time.wall)
    }

    private func decide() {
        guard let decision = people.decision(at: time.wall) else { return }
        // In doubt whether the log has it, nobody asks twice: both ways are well.
        try? log.append([OutgoingRecord(.control, partition: 0, key: nil, value: decision)])
        figures.decisions += 1
    }

    private func report() {
        let records = workload.uploads(circumstances.uploads, at: time.wall)
        guard !records.isEmpty else { return }
        do {
            try log.append(records)
        } catch {
            // As a client does: it cannot know whether the log has them.
            figures.retries += 1
            do { try log.append(records) } catch { return }
        }
        figures.records += records.count
    }

    func stepLane(_ number: Int) {
        guard seats[number].from <= figures.steps else { return }
        let lane = seats[number].lane ?? makeLane(number)
        seats[number].lane = lane
        do {
            try lane.step(waitMilliseconds: 0)
        } catch {
            switch error.remedy {
            case .retry: figures.retries += 1
            case .fenced, .rejoin:
                figures.fenced += 1
                seats[number].lane = nil
            case .stop where isBehindRetention(error):
                figures.fenced += 1
                seats[number].lane = nil
            case .refused, .stop: find("lane \(number) stopped: \(error)")
            }
        }
    }

    /// A lane that has been replaced does not know it, and goes on until it is told.
    private func stepZombie() {
        guard !zombies.isEmpty, random.chance(0.3) else { return }
        let index = random.number(0...zombies.count - 1)
        do {
            try zombies[index].step(waitMilliseconds: 0)
        } catch {
            switch error.remedy {
            case .retry: figures.retries += 1
            case .fenced, .rejoin:
                figures.fenced += 1
                zombies.remove(at: index)
            case .stop where isBehindRetention(error): zombies.remove(at: index)
            case .refused, .stop: find("a zombie stopped: \(error)")
            }
        }
    }

    /// Whether somebody who has lost its partitions wanted to read on where all is gone by now.
    func isBehindRetention(_ fault: LogFault) -> Bool {
        !deleted.isEmpty && fault.reason.contains("is no longer there")
    }

    // MARK: Quiet

    private func settle() {
        log.steer { steering in
            steering.stalled = []
            steering.hidden = []
            steering.faultShare = 0
            steering.heldShare = 0
            steering.pieceBytes = 1 << 18
        }
        time.jump(max(0, latestWall - time.wall))
        for number in seats.indices { seats[number].from = 0 }
        for index in followers.indices { followers[index].from = 0 }
        var quiet = 0
        while !isSettled {
            quiet += 1
            guard quiet < Self.quietStepsMax else {
                return find("not everything has been read after \(quiet) quiet steps")
            }
            time.pass(500)
            for number in seats.indices { stepLane(number) }
            for index in followers.indices { stepFollower(index) }
        }
        // What is in the log by now reaches every edge.
        for _ in 0..<3 {
            for index in followers.indices { stepFollower(index) }
        }
    }

    /// Whether every input has been read to its end, and a minute has passed since.
    private var isSettled: Bool {
        let end = latestWall + 60_000
        return (0..<log.partitions).allSatisfy { partition in
            guard let last = lastEpoch(partition), last.clock >= end else { return false }
            return Topic.inputs.indices.allSatisfy { input in
                let place = TopicPartition(Topic.inputs[input], partition)
                return last.ends[input] == log.memory.bounds(of: place).upperBound
            }
        }
    }

    private func lastEpoch(_ partition: Int) -> (clock: Int64, ends: [Int64])? {
        PartitionRecords.lastEpoch(log.memory, partition)
    }
}
