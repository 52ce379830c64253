// The evaluator's whole state as bytes, and back. A restored evaluator goes on as the original
// would have: the same decisions at the same ticks, the same checksum.

import BrakeModel

extension Evaluator {
    /// Rises when the bytes mean something else; golden files keep every version readable.
    private static let snapshotVersion: UInt8 = 4
    /// Without the counts of stress: they begin anew.
    private static let snapshotVersionBeforeStress: UInt8 = 3
    /// With a policy for each app, by the place of its name in a list: which one follows from what
    /// people have assigned. Without what overrides have made of published states.
    private static let snapshotVersionBeforeOverrides: UInt8 = 2
    /// Without the time at which windows are full: they are.
    private static let snapshotVersionOfFullWindows: UInt8 = 1
    /// A time more than this from the clock is no time of ours.
    private static let timeMax = 1 << 53

    /// The state as bytes. To be taken between calls; O(apps and what they have counted).
    package func snapshot() -> [UInt8] {
        var writer = SnapshotWriter()
        writer.bytes.append(Self.snapshotVersion)
        writer.write(signed: clock)
        writer.write(fixed: checksum)
        writer.write(signed: windowsFullAt > clock ? windowsFullAt : -1)
        writer.write(signed: overrideTick == .max ? -1 : max(0, overrideTick))
        writer.write(apps.count)
        for slot in 0..<UInt32(apps.count) { write(slot, to: &writer) }
        write(seenSessions, to: &writer)
        write(seenCrashes, to: &writer)
        writeStress(to: &writer)
        return writer.bytes
    }

    private func write(_ slot: UInt32, to writer: inout SnapshotWriter) {
        let app = apps.slots[slot]
        let brake = app.brake
        writer.write(text: apps.nameBytes(of: slot))
        writer.write(UInt64(app.shape.bits))
        writer.write(UInt64(brake.state.rawValue))
        let flags = [brake.isKnown, brake.hasChanged, brake.isSilent, app.isTouched]
        writer.write(flags.reversed().reduce(0) { $0 << 1 | ($1 ? 1 : 0) } as Int)
        writer.write(UInt64(brake.relapses))
        writer.write(UInt64(brake.silenceBaseline))
        writer.write(UInt64(app.revision))
        writer.write(UInt64(app.lastSecond))
        writer.write(signed: brake.since)
        for time in [brake.calmSince, brake.heldSince, brake.easedAt] {
            writer.write(signed: time == BrakeState.never ? -1 : time)
        }
        writer.write(signed: app.due == AppSlot.notDue ? -1 : app.due)
        for metric in 0..<Metric.count { write(app.rows[metric], to: &writer) }
        let crashed = app.devices == AppSlot.noDevices ? [] : devices[Int(app.devices)].sorted
        writer.write(crashed.count)
        for (device, second) in crashed {
            writer.write(fixed: device)
            writer.write(UInt64(second))
        }
    }

    /// The panes of a row that hold something: how many, then the distance and count of each.
    private func write(_ row: RowReference, to writer: inout SnapshotWriter) {
        guard !row.isNone else { return writer.write(0) }
        writer.panes.removeAll(keepingCapacity: true)
        rows.forEachPane(row) { place, count in
            writer.panes.append(PaneCount(place: UInt8(truncatingIfNeeded: place), count: count))
        }
        writer.write(writer.panes.count)
        writer.write(UInt64(rows.head(row)))
        var last = 0
        for index in writer.panes.indices {
            let pane = writer.panes[index]
            writer.write(UInt64(truncatingIfNeeded: Int(pane.place) - last))
            writer.write(UInt64(pane.count))
            last = Int(pane.place)
        }
    }

    private func write(_ seen: borrowing SeenIDs, to writer: inout SnapshotWriter) {
        writer.write(seen.count)
        var last: Int64 = 0
        seen.forEach { entry in
            writer.write(fixed: entry.hash)
            writer.write(signed: entry.append - last)
            last = entry.append
        }
    }

    /// The evaluator that `snapshot` was taken of; `controls` are those that were in force.
    package init(
        restoring bytes: [UInt8], controls: Controls, limits: EvaluatorLimits
    ) throws(RestoreFault) {
        self.init(controls: controls, limits: limits)
        var reader = SnapshotReader(bytes)
        let version = try reader.byte()
        guard (Self.snapshotVersionOfFullWindows...Self.snapshotVersion).contains(version) else {
            throw .unknownVersion(Int(version))
        }
        clock = try reader.signed()
        guard clock == Self.notStarted || (0...Int64(Self.timeMax)).contains(clock) else {
            throw .damaged
        }
        checksum = try reader.fixed()
        if version != Self.snapshotVersionOfFullWindows {
            windowsFullAt = try time(from: &reader) ?? Self.notStarted
        }
        let hasShapes = version > Self.snapshotVersionBeforeOverrides
        if hasShapes {
            let tick = try time(from: &reader) ?? .max
            overrideTick = clock == Self.notStarted ? tick : max(tick, Self.second(after: clock))
        } else {
            for _ in 0..<(try reader.number(upTo: Controls.policiesMax)) {
                _ = try reader.text(bytesMax: 1_024)
            }
        }
        let count = try reader.number(upTo: 1 << 30)
        guard count <= limits.appsMax else { throw .tooManyApps(count) }
        for _ in 0..<count { try restoreApp(from: &reader, hasShapes: hasShapes) }
        try Self.restore(&seenSessions, from: &reader)
        try Self.restore(&seenCrashes, from: &reader)
        if version > Self.snapshotVersionBeforeStress { try restoreStress(from: &reader) }
        guard reader.isAtEnd else { throw .damaged }
        restoredPanes = []
        restoreOverrides()
    }

    /// What has ended by the clock has been told of, and its apps are held no more.
    private mutating func restoreOverrides() {
        controls.overrides = controls.overrides.filter { $0.endTick > clock }
        enlistOverrides()
        if clock == Self.notStarted, !controls.overrides.isEmpty { overrideTick = Self.firstClock }
        updateNextDecision()
    }

    private mutating func restoreApp(
        from reader: inout SnapshotReader, hasShapes: Bool
    ) throws(RestoreFault) {
        let name = try reader.text(bytesMax: AppID.bytesMax)
        guard AppID.isValid(name) else { throw .damaged }
        let hash = unsafe name.withUnsafeBytes { unsafe StableHash.of($0) }
        guard let slot = apps.insert(hash: hash, name: name) else { throw .damaged }
        assignPolicy(to: slot)
        // Before, the place of its policy was here.
        let shape = UInt32(try reader.number(upTo: Int(UInt32.max)))
        if hasShapes { apps.slots[slot].shape = Shape(bits: shape) }
        let isTouched = try restoreBrake(of: slot, from: &reader)
        let due = try time(from: &reader)
        for metric in 0..<Metric.count {
            apps.slots[slot].rows[metric] = try restoreRow(from: &reader)
        }
        let crashed = try reader.number(upTo: 2 * CrashedDevices.countMax)
        if crashed > 0 {
            apps.slots[slot].devices = UInt32(devices.count)
            devices.append(CrashedDevices())
        }
        for _ in 0..<crashed {
            let device = try reader.fixed()
            let second = UInt32(try reader.number(upTo: Int(UInt32.max)))
            devices[devices.count - 1].insert(device, at: second)
        }
        if let due { schedule(slot, at: max(due, clock)) }
        if isTouched { touch(slot) }
    }

    private mutating func restoreBrake(
        of slot: UInt32, from reader: inout SnapshotReader
    ) throws(RestoreFault) -> Bool {
        var brake = BrakeState()
        guard let state = ThrottleState(rawValue: UInt8(try reader.number(upTo: 3))) else {
            throw .damaged
        }
        brake.state = state
        let flags = try reader.number(upTo: 15)
        brake.isKnown = flags & 1 != 0
        brake.hasChanged = flags & 2 != 0
        brake.isSilent = flags & 4 != 0
        brake.relapses = UInt8(try reader.number(upTo: Int(BrakeState.relapsesMax)))
        brake.silenceBaseline = UInt32(try reader.number(upTo: Int(UInt32.max)))
        apps.slots[slot].revision = UInt32(try reader.number(upTo: Int(UInt32.max)))
        apps.slots[slot].lastSecond = UInt32(
            try reader.number(upTo: Int(Panes.headSecond(at: max(clock, 0)))))
        brake.since = try time(from: &reader) ?? 0
        brake.calmSince = try time(from: &reader) ?? BrakeState.never
        brake.heldSince = try time(from: &reader) ?? BrakeState.never
        brake.easedAt = try time(from: &reader) ?? BrakeState.never
        apps.slots[slot].brake = brake
        return flags & 8 != 0
    }

    private func time(from reader: inout SnapshotReader) throws(RestoreFault) -> Int64? {
        let time = try reader.signed()
        guard (-1...Int64(Self.timeMax)).contains(time) else { throw .damaged }
        return time == -1 ? nil : time
    }

    private mutating func restoreRow(
        from reader: inout SnapshotReader
    ) throws(RestoreFault) -> RowReference {
        let count = try reader.number(upTo: Panes.windows * Panes.perWindow)
        guard count > 0 else { return .none }
        let head = UInt32(try reader.number(upTo: Int(Panes.headSecond(at: max(clock, 0)))))
        restoredPanes.removeAll(keepingCapacity: true)
        var (place, most): (Int, UInt32) = (0, 0)
        for index in 0..<count {
            let distance = try reader.number(upTo: Panes.windows * Panes.perWindow)
            place += distance
            guard place < Panes.windows * Panes.perWindow, index == 0 || distance > 0 else {
                throw .damaged
            }
            let pane = UInt32(try reader.number(upTo: Int(UInt32.max)))
            restoredPanes.append(PaneCount(place: UInt8(place), count: pane))
            most = max(most, pane)
        }
        return rows.makeRow(head: head, most: most, panes: restoredPanes)
    }

    private static func restore(
        _ seen: inout SeenIDs, from reader: inout SnapshotReader
    ) throws(RestoreFault) {
        let count = try reader.number(upTo: 1 << 30)
        // Each takes nine bytes at least: what a damaged count claims is not worth memory.
        seen.reserve(min(count, reader.bytesLeft / 9))
        var append: Int64 = 0
        for _ in 0..<count {
            let hash = try reader.fixed()
            let distance = try reader.signed()
            guard abs(distance) <= Int64(Self.timeMax) else { throw .damaged }
            append &+= distance
            seen.restore(SeenIDs.Entry(hash: hash, append: append))
        }
    }
}
