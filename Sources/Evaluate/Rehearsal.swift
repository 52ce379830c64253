// What would have been: the last hour of a log decided twice from the same beginning, as it would
// be by what people have decided, and as it would be by what they are about to.

package import BrakeEngine
package import BrakeModel
package import BrakeWire
package import EventLog
package import Runtime

/// Tries a decision of people before it takes effect. Reads only. Overrides are left aside: what is
/// compared is what the policies compute.
package struct Rehearsal {
    /// How far back it begins, ms.
    package static let spanMilliseconds: Int64 = 3_600_000
    /// The most apps that are told by name.
    package static let appsMax = 1_000

    /// What would be another way for an app.
    package struct AppOutcome: Sendable, Equatable {
        package var app: AppID
        package var now: Course
        package var then: Course
    }

    /// How an app went through the hour.
    package struct Course: Sendable, Equatable {
        package var state: ThrottleState
        package var strictest: ThrottleState
        package var changes: Int
        /// How the caps of its countries were tightened at the most, 0 ... 2.
        package var nonFatals = 0
    }

    package struct Outcome: Sendable {
        /// The clocks between which was decided; nil: nothing was there to decide on.
        package fileprivate(set) var from: Int64?
        package fileprivate(set) var until: Int64?
        package fileprivate(set) var apps = 0
        /// Those that would have gone another way, the first of them by name.
        package fileprivate(set) var changed = 0
        package fileprivate(set) var list: [AppOutcome] = []
        /// Partitions whose last hour cannot be decided again, as no snapshot is left of it.
        package fileprivate(set) var partitionsLeftOut: [Int] = []
        /// Whether time was up before all partitions had been looked at.
        package fileprivate(set) var isPartial = false
    }

    private let log: any EventLog
    private let base: Policy
    private let limits: EvaluatorLimits
    private let logger: Logger

    package init(log: any EventLog, base: Policy, limits: EvaluatorLimits, logger: Logger) {
        self.log = log
        self.base = base
        self.limits = limits
        self.logger = logger
    }

    /// Runs it; `isOver` is asked between partitions.
    package func run(
        now: ControlLedger, then: ControlLedger, isOver: () -> Bool = { false }
    ) throws(LogFault) -> Outcome {
        var outcome = Outcome()
        let control = ControlFeed(log: log, isRewindable: true)
        defer { control.close() }
        for partition in 0..<log.partitions {
            if isOver() {
                outcome.isPartial = true
                break
            }
            try run(partition, now, then, control, into: &outcome)
        }
        outcome.list.sort { $0.app < $1.app }
        outcome.list = Array(outcome.list.prefix(Self.appsMax))
        return outcome
    }

    private func run(
        _ partition: Int, _ now: ControlLedger, _ then: ControlLedger, _ control: ControlFeed,
        into outcome: inout Outcome
    ) throws(LogFault) {
        guard let last = try EpochHistory.last(of: partition, in: log), last.clock > .min else {
            return
        }
        let start = last.clock - Self.spanMilliseconds
        guard let beginning = try beginning(EpochSearch(of: partition, in: log), before: start)
        else {
            outcome.partitionsLeftOut.append(partition)
            return
        }
        let one = try courses(partition, beginning, upTo: last, by: now, control)
        let other = try courses(partition, beginning, upTo: last, by: then, control)
        outcome.from = min(outcome.from ?? .max, beginning.clock ?? last.clock)
        outcome.until = max(outcome.until ?? .min, last.clock)
        outcome.apps += one.count
        for (app, course) in one {
            guard let changed = other[app], changed != course else { continue }
            outcome.changed += 1
            outcome.list.append(AppOutcome(app: app, now: course, then: changed))
        }
    }

    /// Where to begin: a snapshot from before the hour, else with the first record of a log that is
    /// younger; nil when there is neither.
    private func beginning(
        _ search: EpochSearch, before start: Int64
    ) throws(LogFault) -> RehearsalBeginning? {
        if let pointing = try search.last(where: { $0.clock <= start }) {
            for pointer in pointing.snapshots {
                let epoch = try search.last { $0.number <= pointer.epoch }
                if let epoch, epoch.number == pointer.epoch { return .snapshot(pointer, of: epoch) }
            }
        }
        for type in EventType.allCases {
            let bounds = try log.bounds(of: TopicPartition(Topic(type), search.partition))
            if bounds.lowerBound > 0 { return nil }
        }
        return .firstRecord
    }

    private func courses(
        _ partition: Int, _ beginning: RehearsalBeginning, upTo last: EpochRecord,
        by ledger: ControlLedger, _ control: ControlFeed
    ) throws(LogFault) -> [AppID: Course] {
        let (group, start) = try group(partition, at: beginning, control)
        var controls = PartitionGroup.controls(
            of: partition, partitions: log.partitions, by: ledger, base: base, since: .max)
        controls.overrides = []
        group.evaluator.adopt(controls, into: &group.decisions)
        var courses: [AppID: Course] = [:]
        group.evaluator.forEachComputed { app, state in
            courses[app] = Course(state: state, strictest: state, changes: 0)
        }
        group.dropOutputs()
        let scan = try EpochReplay.scan(of: partition, in: log, from: start)
        let replay = EpochReplay(log, group, scan, control, base: base, epochs: [last])
        defer { replay.close() }
        while try replay.count(
            upTo: last.offsets, clock: last.clock, waitMilliseconds: LogScan.pollMilliseconds)
            != .done
        { Self.take(&group.decisions, into: &courses) }
        Self.take(&group.decisions, into: &courses)
        return courses
    }

    private static func take(_ decisions: inout Decisions, into courses: inout [AppID: Course]) {
        for change in decisions.changes {
            var course =
                courses[change.app]
                ?? Course(state: change.state, strictest: change.state, changes: 0)
            course.state = change.computed
            course.strictest = max(course.strictest, change.computed)
            course.changes += 1
            courses[change.app] = course
        }
        for case (let app, let index?) in decisions.stress.map({ ($0.app, $0.index) }) {
            let most = index.countries.reduce(index.all.nonFatals) { max($0, $1.nonFatals) }
            guard var course = courses[app] else { continue }
            course.nonFatals = max(course.nonFatals, most)
            courses[app] = course
        }
        decisions.removeAll()
    }

    /// The group as it was at the beginning, with the offsets that it goes on from.
    private func group(
        _ partition: Int, at beginning: RehearsalBeginning, _ control: ControlFeed
    ) throws(LogFault) -> (group: PartitionGroup, start: EpochRecord.Offsets) {
        let evaluator: Evaluator
        let start: EpochRecord.Offsets
        switch beginning {
        case .firstRecord:
            evaluator = Evaluator(policy: base, limits: limits)
            start = EpochRecord.Offsets()
        case .snapshot(let pointer, of: let epoch):
            evaluator = try self.evaluator(partition, pointer, of: epoch, control)
            start = epoch.offsets
        }
        let group = PartitionGroup(
            partition: partition, evaluator: evaluator,
            positions: EventType.allCases.map { start[$0] }, controlEnd: start.control, number: 0,
            snapshots: [], throttleEnd: 0)
        return (group, start)
    }

    private func evaluator(
        _ partition: Int, _ pointer: EpochRecord.SnapshotPointer, of epoch: EpochRecord,
        _ control: ControlFeed
    ) throws(LogFault) -> Evaluator {
        let end = epoch.offsets.control
        try control.advance(to: end)
        let controls = PartitionGroup.controls(
            of: partition, partitions: log.partitions, by: control.ledger, base: base, since: end)
        do {
            let scan = try SnapshotScan(pointer, of: partition, in: log)
            defer { scan.close() }
            while try scan.step(waitMilliseconds: LogScan.pollMilliseconds) != .done {}
            return try scan.evaluator(controls: controls, limits: limits)
        } catch let fault as LogFault {
            throw fault
        } catch {
            throw LogFault(
                "rehearse", at: "partition \(partition) of \(log.place)",
                reason: "the snapshot of epoch \(epoch.number) cannot be used: \(error)",
                hint: "try again once there is a newer one", remedy: .stop)
        }
    }
}

/// Where the two courses part.
enum RehearsalBeginning {
    case snapshot(EpochRecord.SnapshotPointer, of: EpochRecord)
    case firstRecord

    /// Nil: that of the first record, whichever it is.
    var clock: Int64? {
        if case .snapshot(_, let epoch) = self { epoch.clock } else { nil }
    }
}

extension Rehearsal.Outcome {
    /// As the admin listener answers it.
    package var bytes: [UInt8] {
        JSONWriter.bytes { body in
            body.object { body in
                body.field("dry_run", true)
                body.field("from", from ?? 0)
                body.field("until", until ?? 0)
                body.field("apps", apps)
                body.field("changed", changed)
                body.array("list") { list in
                    for outcome in self.list {
                        list.object { item in
                            item.field("app", outcome.app.text)
                            item.object("now") { $0.write(outcome.now) }
                            item.object("then") { $0.write(outcome.then) }
                        }
                    }
                }
                body.array("partitions_left_out") { list in
                    for partition in partitionsLeftOut { list.integer(partition) }
                }
                body.field("partial", isPartial)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ course: Rehearsal.Course) {
        field("state", course.state.name)
        field("strictest", course.strictest.name)
        field("changes", course.changes)
        field("caps_as_nf", course.nonFatals)
    }
}
