// What a log holds, against undisturbed runs over the same input: one that follows the log's
// epochs, and one over a file of the same records that knows neither log, epoch nor snapshot.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import ProcessTestSupport

/// What a comparison has brought to light; nothing in the lists: all is as it must be.
struct ChaosFindings {
    var records = 0
    var changes = 0
    /// Records that became readable only after the clock had passed them.
    var stragglers = 0
    var lost: [String] = []
    var doubled: [String] = []
    var wrong: [String] = []

    var all: [String] {
        lost.map { "lost: \($0)" } + doubled.map { "doubled: \($0)" } + wrong
    }
}

/// Compares up to the last epoch that the ledger has seen; load may go on meanwhile.
struct ChaosTruth {
    let ledger: ChaosLedger
    let workplace: Workplace
    /// `--log`, `--prefix` and `--policy` of everything that runs over this log.
    let options: [String]
    let policy: String

    func check(_ tally: Clients.Tally?, fleetAccepted: Int) throws -> ChaosFindings {
        var findings = ChaosFindings()
        try ledger.catchUp()
        if let tally { checkUploads(tally, &findings) }
        if ledger.fleetEvents < fleetAccepted {
            findings.lost.append(
                "\(fleetAccepted - ledger.fleetEvents) of the fleet's events that were accepted")
        }
        for partition in ledger.epochs.indices {
            checkEpochs(partition, &findings)
            checkInputs(partition, &findings)
        }
        checkRevisions(&findings)
        try checkReplay(&findings)
        for partition in ledger.epochs.indices { try checkFile(partition, &findings) }
        return findings
    }

    /// Of what clients were told to be taken everything is there, and nothing twice.
    private func checkUploads(_ tally: Clients.Tally, _ findings: inout ChaosFindings) {
        for (token, events) in tally.acknowledged where ledger.events[token]?.count != events {
            findings.lost.append("events of the acknowledged upload \(token)")
        }
        findings.doubled += ledger.twice.map { "event \($0)" }
        findings.wrong += tally.complaints.map { "a client was answered \($0)" }
    }

    private func checkEpochs(_ partition: Int, _ findings: inout ChaosFindings) {
        let epochs = ledger.epochs[partition]
        if epochs.map(\.number) != epochs.indices.map({ Int64($0 + 1) }) {
            findings.wrong.append("the epochs of partition \(partition) have gaps")
        }
        for (one, next) in zip(epochs, epochs.dropFirst()) {
            let isForward = EventType.allCases.allSatisfy { one.offsets[$0] <= next.offsets[$0] }
            if !isForward || one.clock > next.clock || one.generation > next.generation {
                findings.wrong.append("epoch \(next.number) of partition \(partition) goes back")
            }
        }
        var published: [Int64: Int] = [:]
        for change in ledger.changes[partition] { published[change.record.epoch, default: 0] += 1 }
        for epoch in epochs where epoch.changes != published[epoch.number] ?? 0 {
            findings.wrong.append(
                "epoch \(epoch.number) of partition \(partition) has \(epoch.changes) changes, but "
                    + "\(published[epoch.number] ?? 0) are published")
        }
    }

    /// Every record of an input has been given out, none is missing before the last epoch's end.
    private func checkInputs(_ partition: Int, _ findings: inout ChaosFindings) {
        for type in EventType.allCases {
            let end = ledger.epochs[partition].last?.offsets[type] ?? 0
            var next: Int64 = 0
            for input in ledger.inputs[partition] where input.type == type && input.offset < end {
                if input.offset != next {
                    findings.lost.append("\(type.name)[\(partition)] from offset \(next)")
                }
                next = input.offset + 1
                findings.records += 1
            }
            if next != end { findings.lost.append("the end of \(type.name)[\(partition)]") }
        }
    }

    private func checkRevisions(_ findings: inout ChaosFindings) {
        var last: [AppID: ThrottleChange] = [:]
        for change in ledger.changes.joined().map(\.record.change) {
            let before = last[change.app]
            findings.changes += 1
            if change.revision <= before?.revision ?? 0 {
                findings.doubled.append("revision \(change.revision) of \(change.app.text)")
            } else if change.revision != (before?.revision ?? 0) + 1 {
                findings.lost.append("the revision of \(change.app.text) before \(change.revision)")
            }
            if let before, before.state == change.state || before.since >= change.since {
                findings.wrong.append("\(change.app.text) changed to what it was")
            }
            last[change.app] = change
        }
    }

    /// A replay that follows the epochs publishes the same bytes, and finds every checksum right.
    private func checkReplay(_ findings: inout ChaosFindings) throws {
        let replay = try Child.run(["replay"] + options + ["--policy", policy])
        guard replay.ending == .exited(0) else {
            findings.wrong.append("replay of the log: \(replay.complaints)")
            return
        }
        let documents = DocumentReader()
        // It may have seen later epochs.
        let lines = replay.output.split(separator: "\n").filter { line in
            let record = unsafe Array(line.utf8).withUnsafeBytes { bytes in
                unsafe try? ThrottleRecord.decode(bytes, with: documents)
            }
            return record.map(isSeen) ?? true
        }
        compare(published().map(\.text), with: lines.map(String.init), "replay", &findings)
    }

    /// A run over a file of the partition's records decides the same, revision by revision.
    private func checkFile(_ partition: Int, _ findings: inout ChaosFindings) throws {
        let (text, stragglers) = export(partition)
        findings.stragglers += stragglers
        let path = try workplace.write("partition-\(partition).ndjson", text)
        let run = try Child.run(["replay", "--input", path, "--policy", policy, "--quiet"])
        guard run.ending == .exited(0) else {
            findings.wrong.append("replay of a file: \(run.complaints)")
            return
        }
        func decision(_ text: String) -> String {
            text.components(separatedBy: #","partition":"#).first ?? text
        }
        let own = published().filter { $0.record.partition == partition }.map { decision($0.text) }
        let other = run.output.split(separator: "\n").map { decision(String($0)) }
        compare(own, with: other, "run over a file", &findings)
    }

    /// What was published up to the last epoch seen, in order of tick, then app.
    private func published() -> [ChaosLedger.Change] {
        ledger.changes.joined().filter { isSeen($0.record) }.sorted {
            ($0.record.change.since, $0.record.change.app)
                < ($1.record.change.since, $1.record.change.app)
        }
    }

    private func isSeen(_ record: ThrottleRecord) -> Bool {
        record.epoch <= ledger.epochs[record.partition].last?.number ?? 0
    }

    /// The records of a partition in the order of their append times, as `replay --input` takes
    /// them. One that became readable late stands where it was counted, behind the clock.
    private func export(_ partition: Int) -> (text: String, stragglers: Int) {
        var queues = EventType.allCases.map { type in
            ledger.inputs[partition].filter { $0.type == type }[...]
        }
        var lines: [String] = []
        var stragglers = 0
        var clock = Int64.min
        for epoch in ledger.epochs[partition] {
            var counted: [ChaosLedger.Input] = []
            for type in EventType.allCases {
                let index = Int(type.rawValue)
                let part = queues[index].prefix { $0.offset < epoch.offsets[type] }
                queues[index].removeFirst(part.count)
                counted += part
            }
            counted.sort {
                ($0.append, $0.type.rawValue, $0.offset) < ($1.append, $1.type.rawValue, $1.offset)
            }
            let late = counted.count { $0.append < clock }
            if late > 0 { lines.append(#"{"append":\#(clock)}"#) }
            stragglers += late
            for input in counted {
                let value = String(decoding: input.value, as: UTF8.self)
                lines.append(#"{"append":\#(input.append),"value":\#(value)}"#)
            }
            clock = epoch.clock
        }
        if clock > .min { lines.append(#"{"append":\#(clock)}"#) }
        return (lines.joined(separator: "\n") + "\n", stragglers)
    }

    private func compare(
        _ published: [String], with truth: [String], _ name: String,
        _ findings: inout ChaosFindings
    ) {
        guard published != truth else { return }
        var counts: [String: Int] = [:]
        for text in truth { counts[text, default: 0] += 1 }
        for text in published { counts[text, default: 0] -= 1 }
        let lost = counts.filter { $0.value > 0 }.keys.sorted()
        let doubled = counts.filter { $0.value < 0 }.keys.sorted()
        findings.lost += lost.map { "only in the \(name): \($0)" }
        findings.doubled += doubled.map { "not in the \(name): \($0)" }
        if lost.isEmpty && doubled.isEmpty {
            findings.wrong.append("another order than in the \(name)")
        }
    }
}
