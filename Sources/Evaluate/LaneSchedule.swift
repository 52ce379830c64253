// When partitions are due for a commit or a snapshot: a value over the monotonic clock.

import BrakeEngine

/// The times of a lane's partitions, in ms. What is due is decided here; the lane does it.
struct LaneSchedule {
    /// An epoch that publishes so much is committed though the lane is behind.
    private static let changesMax = 10_000
    /// The least wait for a younger answer than the last.
    private static let waitMinMilliseconds: Int64 = 5
    /// A state that nothing was counted into is put into the log this often all the same, so that
    /// a restore need not read back days of idle epochs, nor miss a snapshot that has been deleted.
    private static let idleSnapshotMilliseconds: Int64 = 3_600_000

    private struct Times {
        var committedAt: Int64
        var snapshotAt: Int64
        /// What had been counted when the last snapshot was taken.
        var snapshotEvents: Int64
    }

    private let settings: EvaluateSettings
    private var times: [Int: Times] = [:]

    init(_ settings: EvaluateSettings) {
        self.settings = settings
    }

    /// Begins with a group that has just been restored.
    mutating func add(_ group: PartitionGroup, partitions: Int, now: Int64) {
        // Spread over the interval, so that not all snapshots fall into one commit.
        let share = Int64(group.partition % partitions) * settings.snapshotMilliseconds
        times[group.partition] = Times(
            committedAt: now, snapshotAt: now - share / Int64(partitions),
            snapshotEvents: group.evaluator.tallies.events)
    }

    mutating func remove(_ partition: Int) { times[partition] = nil }

    /// The groups whose epochs shall be committed together now, none when none has to be.
    func groupsToCommit(_ groups: [PartitionGroup], now: Int64) -> [PartitionGroup] {
        guard groups.contains(where: { isDue($0, now: now) }) else { return [] }
        return groups.filter { group in
            group.isOpen || group.hasBegun
                || age(of: group, now: now) >= settings.heartbeatMilliseconds / 2
        }
    }

    private func isDue(_ group: PartitionGroup, now: Int64) -> Bool {
        if group.hasBegun { return true }
        let age = age(of: group, now: now)
        guard group.isOpen else { return age >= settings.heartbeatMilliseconds }
        let tick = group.evaluator.shortestTickMilliseconds
        return age >= settings.epochMilliseconds
            || group.decisions.changes.count + group.decisions.stress.count
                >= Self.changesMax
            || group.isAtEnd && (!group.decisions.isEmpty || group.hasPassedTick(of: tick))
    }

    /// The group whose state goes into the log with the next commit: one at a time. That of a
    /// partition without an app, too: it is small, and its epochs are as many as any other's.
    func groupToSnapshot(_ due: [PartitionGroup], now: Int64) -> PartitionGroup? {
        due.first { group in
            guard let times = times[group.partition] else { return false }
            if group.snapshots.isEmpty { return true }
            let age = now - times.snapshotAt
            return age >= Self.idleSnapshotMilliseconds
                || age >= settings.snapshotMilliseconds
                    && group.evaluator.tallies.events > times.snapshotEvents
        }
    }

    mutating func noteCommit(of group: PartitionGroup, withSnapshot: Bool, now: Int64) {
        times[group.partition]?.committedAt = now
        guard withSnapshot else { return }
        times[group.partition]?.snapshotAt = now
        times[group.partition]?.snapshotEvents = group.evaluator.tallies.events
    }

    /// How long a poll may wait: until the next tick with something to decide, or the next commit.
    func waitMilliseconds(_ groups: [PartitionGroup], atMost most: Int, now: Int64, wall: Int64)
        -> Int
    {
        var wait = Int64(most)
        for group in groups {
            let patience =
                group.isOpen ? settings.epochMilliseconds : settings.heartbeatMilliseconds
            wait = min(wait, patience - age(of: group, now: now))
            if let patience = group.patienceMilliseconds {
                wait = min(wait, max(Self.waitMinMilliseconds, patience))
            }
            if let tick = group.evaluator.nextTick {
                wait = min(wait, tick + settings.idleLagMilliseconds - wall)
            }
        }
        return Int(max(0, wait))
    }

    private func age(of group: PartitionGroup, now: Int64) -> Int64 {
        now - (times[group.partition]?.committedAt ?? now)
    }
}
