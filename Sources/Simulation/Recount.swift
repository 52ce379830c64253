// An evaluator of its own over the epochs of a partition, as independent of lanes and restores as
// can be: records sorted, counted, and compared with what was published.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

/// What counting again has brought to light.
struct Recount {
    private let records: PartitionRecords
    private let settings: (policy: Policy, limits: EvaluatorLimits)
    private let decoder = EventDecoder()
    private(set) var notices: [[UInt8]] = []
    private(set) var letters: [[UInt8]] = []
    private(set) var tallies = Tallies()
    private(set) var findings: [String] = []

    init(_ records: PartitionRecords, policy: Policy, limits: EvaluatorLimits) {
        self.records = records
        settings = (policy, limits)
    }

    /// Counts all epochs, from the first record on.
    mutating func runAll() {
        count(
            Evaluator(policy: settings.policy, limits: settings.limits),
            records.epochs[...])
    }

    /// Counts the epochs after that of a snapshot.
    mutating func run(from pointer: EpochRecord.SnapshotPointer, image: [UInt8]) {
        guard let place = records.epochs.firstIndex(where: { $0.number == pointer.epoch }) else {
            return find("no epoch \(pointer.epoch) belongs to a snapshot")
        }
        do {
            let evaluator = try Evaluator(
                restoring: image, controls: controls(upTo: records.epochs[place].offsets.control),
                limits: settings.limits)
            guard evaluator.checksum == records.epochs[place].checksum else {
                return find("the snapshot of epoch \(pointer.epoch) is not of its state")
            }
            count(evaluator, records.epochs[(place + 1)...], startsAt: records.epochs[place])
        } catch {
            find("the snapshot of epoch \(pointer.epoch) cannot be restored: \(error)")
        }
    }

    private mutating func count(
        _ evaluator: consuming Evaluator, _ epochs: ArraySlice<EpochRecord>,
        startsAt before: EpochRecord? = nil
    ) {
        var positions = EventType.allCases.map { before?.offsets[$0] ?? 0 }
        var published: [Int64: [[UInt8]]] = [:]
        for (bytes, record) in records.throttle {
            published[record.epoch, default: []].append(bytes)
        }
        var stress: [Int64: [[UInt8]]] = [:]
        for case (let bytes, let epoch?) in records.stress {
            stress[epoch, default: []].append(bytes)
        }
        var decisions = Decisions()
        var controlEnd = before?.offsets.control ?? 0
        for epoch in epochs {
            if epoch.offsets.control > controlEnd {
                var controls = controls(upTo: epoch.offsets.control)
                controls.newFrom = controlEnd
                controlEnd = epoch.offsets.control
                evaluator.adopt(controls, into: &decisions)
            }
            var batch = EventBatch()
            for input in inputs(from: positions, to: epoch) { decode(input, into: &batch) }
            evaluator.apply(batch, into: &decisions)
            evaluator.advance(to: epoch.clock, into: &decisions)
            for type in EventType.allCases { positions[Int(type.rawValue)] = epoch.offsets[type] }
            refuse(decisions, batch)
            let changes = decisions.changes.map {
                ThrottleRecord(
                    change: $0, partition: records.partition, epoch: epoch.number
                ).encode()
            }
            if changes.count != epoch.changes {
                find("epoch \(epoch.number) tells of \(epoch.changes) changes of \(changes.count)")
            }
            compare(changes, published[epoch.number] ?? [], epoch)
            let told = decisions.stress.compactMap(\.index).map {
                StressRecord(index: $0, partition: records.partition, epoch: epoch.number).encode()
            }
            compare(told, stress[epoch.number] ?? [], epoch)
            notices += decisions.notices.map { $0.encode() }
            decisions.removeAll()
            guard evaluator.checksum == epoch.checksum else {
                return find("epoch \(epoch.number) comes out with another checksum")
            }
        }
        tallies = evaluator.tallies
    }

    /// What people had decided, as this partition has to know it.
    private func controls(upTo end: Int64) -> Controls {
        var ledger = ControlLedger()
        let reader = DocumentReader()
        for (offset, value) in records.control where offset < end {
            unsafe (value ?? []).withUnsafeBytes {
                unsafe ledger.take(offset: offset, value: $0, with: reader)
            }
        }
        var controls = ledger.controls(base: settings.policy) { app in
            Partitioner.partition(of: app.text.utf8, partitions: records.partitions)
                == records.partition
        }
        controls.tellsOfFleet = records.partition == 0
        return controls
    }

    /// What an epoch has read, in the order of append time, topic, offset.
    private func inputs(
        from positions: [Int64], to epoch: EpochRecord
    ) -> [PartitionRecords.Input] {
        var inputs: [PartitionRecords.Input] = []
        for type in EventType.allCases {
            // What was deleted is among them, so a record stands at its offset.
            let all = records.inputs[Int(type.rawValue)]
            let first = min(Int(positions[Int(type.rawValue)]), all.count)
            inputs += all[first...].prefix { $0.offset < epoch.offsets[type] }
        }
        return inputs.sorted {
            ($0.append, $0.type.rawValue, $0.offset) < ($1.append, $1.type.rawValue, $1.offset)
        }
    }

    private mutating func decode(_ input: PartitionRecords.Input, into batch: inout EventBatch) {
        var rejected: [RejectedEvent] = []
        unsafe withBytes(input.value) { value in
            unsafe withBytes(input.key) { key in
                unsafe decoder.decode(
                    value, append: input.append, from: .topic(input.type, key: key), into: &batch,
                    rejected: &rejected)
            }
            let app = input.key.flatMap { key in
                unsafe key.withUnsafeBytes { unsafe AppID(bytes: $0) }
            }
            for event in rejected {
                let letter = unsafe DeadLetter(
                    stage: .evaluate, topic: input.type.name, partition: records.partition,
                    offset: input.offset, append: input.append, app: app,
                    event: event, value: value)
                letters.append(letter.encode())
            }
        }
    }

    private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
        guard let bytes else { return body(nil) }
        unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }

    /// An app that is refused has one letter an epoch.
    private mutating func refuse(_ decisions: Decisions, _ batch: EventBatch) {
        var apps: Set<UInt64> = []
        for refused in decisions.refused {
            let event = batch.events[refused.event]
            guard apps.insert(event.appHash).inserted else { continue }
            let first = Int(event.nameOffset)
            let name = Array(batch.names[first..<first + Int(event.nameLength)])
            unsafe name.withUnsafeBytes { bytes in
                let letter = unsafe DeadLetter(
                    stage: .evaluate, topic: "app", partition: records.partition, offset: -1,
                    append: event.append, app: AppID(bytes: bytes),
                    event: RejectedEvent(index: nil, reason: refused.reason), value: bytes)
                letters.append(letter.encode())
            }
        }
    }

    private mutating func compare(
        _ changes: [[UInt8]], _ published: [[UInt8]], _ epoch: EpochRecord
    ) {
        guard changes != published else { return }
        let place = zip(changes, published).prefix { $0 == $1 }.count
        func text(_ list: [[UInt8]]) -> String {
            place < list.count ? String(decoding: list[place], as: UTF8.self) : "nothing"
        }
        find(
            "epoch \(epoch.number), change \(place):\n    computed  \(text(changes))\n"
                + "    published \(text(published))")
    }

    private mutating func find(_ finding: String) {
        findings.append("partition \(records.partition): \(finding)")
    }
}
