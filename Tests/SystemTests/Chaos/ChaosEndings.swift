// Faults that take away what an evaluator needs: it has to stop and to say why, or to do with what
// is left. Each is made to a log of its own.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPClient
import KafkaLog
import ProcessTestSupport
import Runtime
import Testing

/// A fault of the log itself, and what has to come of it.
struct ChaosEnding: Sendable {
    let name: String
    /// The prefix of its topics.
    let prefix: String
    /// Makes it under load, after which the log has been checked once; returns what came of it.
    /// How often its evaluators put their state into the log.
    let snapshotEvery: String
    let make: @Sendable (ChaosArena) throws -> String

    static let all = [topicMadeAnew, retentionAhead, transactionCut, tailCompacted]

    private init(
        name: String, prefix: String, snapshotEvery: String = "5s",
        make: @escaping @Sendable (ChaosArena) throws -> String
    ) {
        (self.name, self.prefix, self.snapshotEvery) = (name, prefix, snapshotEvery)
        self.make = make
    }

    private static func pause(_ milliseconds: Int) { StopSignal().wait(milliseconds: milliseconds) }

    /// The offsets start again from 0: going on would skip or repeat.
    private static let topicMadeAnew = ChaosEnding(
        name: "topic deleted, made anew", prefix: "anew"
    ) { arena in
        try arena.recover()
        let topic = arena.settings.prefix + "crash"
        try arena.cluster.tool("kafka-topics", ["--delete", "--topic", topic])
        let create = try Child.run(
            ["topics", "create", "--partitions", "\(ChaosArena.partitions)", "--replicas", "3"]
                + arena.options)
        try #require(create.ending == .exited(0), "\(create.complaints)")
        _ = try arena.reason(ofStopping: "a", with: [topic])
        // Nor does it begin again as if nothing were: the new topic ends before what was counted,
        // or by now has other records there.
        try arena.start("a")
        let reason = try arena.reason(ofStopping: "a", with: [])
        guard reason.contains("crash") || reason.contains("another checksum") else {
            throw ChaosFailure("started again it \(reason)")
        }
        return reason
    }

    /// Records that nobody has counted are deleted: nothing makes up for them.
    private static let retentionAhead = ChaosEnding(
        name: "retention ahead of reader", prefix: "past"
    ) { arena in
        let child = try arena.worker("a")
        child.signal(SIGSTOP)
        let before = try arena.inputEnds()
        pause(4_000)
        let after = try arena.inputEnds()
        let places = after.filter { place, end in
            place.topic == .session && end > before[place, default: 0]
        }
        try #require(places.count == ChaosArena.partitions, "sessions have come to each partition")
        try arena.deleteRecords(before: places)
        child.signal(SIGCONT)
        let words = [arena.settings.prefix + "session", "no longer there"]
        _ = try arena.reason(ofStopping: "a", with: words)
        try arena.start("a")
        let reason = try arena.reason(ofStopping: "a", with: words)
        try arena.ledger.catchUpEpochs()
        let counted = arena.ledger.counted
        guard places.keys.allSatisfy({ counted[$0, default: 0] <= before[$0, default: 0] }) else {
            throw ChaosFailure("epochs have gone on over what is gone")
        }
        return reason
    }

    /// An administrator takes a transaction of ours for a hanging one, and aborts its part in one
    /// partition: the epoch's record is gone, while its positions may be committed.
    private static let transactionCut = ChaosEnding(
        name: "transaction aborted in part", prefix: "part", snapshotEvery: "1h"
    ) { arena in
        let child = try arena.worker("a")
        let open = try OpenTransactions(arena.settings)
        let epochs = arena.log.places(of: .epoch)
        _ = try eventually("a transaction is aborted in part") { () -> Bool? in
            child.signal(SIGSTOP)
            defer { child.signal(SIGCONT) }
            guard let first = try open.first(in: epochs).min(by: { $0.key < $1.key }) else {
                return nil
            }
            // One whose end was asked for comes to it without the worker.
            pause(500)
            guard try open.first(in: [first.key])[first.key] == first.value else { return nil }
            // On a slow machine the brokers themselves have aborted it before the tool does.
            return try? arena.abort(first.key, at: first.value)
        }
        pause(3_000)
        // Without snapshots: every epoch is looked at again.
        if child.isRunning {
            try arena.kill("a")
            try arena.start("a")
        }
        return try arena.reason(ofStopping: "a", with: ["epoch"])
    }

    /// Only the last record of an app is left: an evaluator whose snapshots are gone goes on from
    /// it, and an edge is ready and knows all.
    private static let tailCompacted = ChaosEnding(
        name: "tail of throttle compacted", prefix: "table"
    ) { arena in
        try arena.compactThrottle(true)
        pause(15_000)
        try arena.finishLoad()
        try arena.stop("a")
        let changes = try arena.replay()
        var states: [AppID: ThrottleChange] = [:]
        for change in changes { states[change.app] = change }
        let table = try eventually("the table is compacted") { () -> ChaosLedger? in
            let table = ChaosLedger(arena.log)
            try table.catchUp()
            return table.changes.joined().count < changes.count ? table : nil
        }
        let kept = table.changes.joined().count
        try arena.compactThrottle(false)
        try #require(table.states == states, "the last state of each app is kept")
        try arena.deleteRecords(before: arena.ends(of: Topic.inputs))
        try arena.deleteRecords(before: arena.ends(of: [.snapshot]))
        _ = try arena.start("a").line(with: "no snapshot is left")
        try tell(states, arena)
        try arena.startLoad(withFleet: false)
        pause(8_000)
        try arena.finishLoad()
        try table.catchUp()
        let more = table.changes.map { $0.map(\.record.change) }.joined().filter { change in
            states[change.app].map { change.revision > $0.revision } ?? true
        }
        for change in more {
            try #require(change.revision == (states[change.app]?.revision ?? 0) + 1)
            states[change.app] = change
        }
        try #require(!more.isEmpty, "states have moved")
        return "\(kept) of \(changes.count) records kept every state, \(more.count) changes after"
    }

    /// An edge that starts now tells these states.
    private static func tell(_ states: [AppID: ThrottleChange], _ arena: ChaosArena) throws {
        let edge = try Child(["serve", "--listen", "127.0.0.1:0"] + arena.options)
        defer { edge.close() }
        let address = try edge.address()
        let connection = HTTPConnection()
        for (app, change) in states {
            _ = try eventually("the edge tells the state of \(app.text)") {
                try Answer(about: app.text, of: address, connection).tells(change) ? true : nil
            }
        }
    }
}

extension ChaosArena {
    func ends(of topics: [Topic]) throws -> [TopicPartition: Int64] {
        var ends: [TopicPartition: Int64] = [:]
        for place in topics.flatMap({ log.places(of: $0) }) {
            ends[place] = try log.bounds(of: place).upperBound
        }
        return ends
    }

    /// What an undisturbed run decides, in order of tick.
    func replay() throws -> [ThrottleChange] {
        let replay = try Child.run(["replay"] + options + ["--policy", policy])
        try #require(replay.ending == .exited(0), "\(replay.complaints)")
        let documents = DocumentReader()
        return try replay.output.split(separator: "\n").map { line in
            unsafe try Array(line.utf8).withUnsafeBytes { bytes in
                unsafe try ThrottleRecord.decode(bytes, with: documents).change
            }
        }
    }

    /// Deletes what lies before these offsets, as retention would.
    func deleteRecords(before offsets: [TopicPartition: Int64]) throws {
        let list = offsets.map { place, offset in
            #"{"topic":"\#(settings.prefix)\#(place.topic.name)","partition":\#(place.partition),"#
                + #""offset":\#(offset)}"#
        }
        let file = try workplace.write(
            "offsets.json", #"{"version":1,"partitions":[\#(list.joined(separator: ","))]}"#)
        try cluster.tool("kafka-delete-records", ["--offset-json-file", file])
    }

    /// Aborts the part of a transaction that lies in one partition.
    func abort(_ place: TopicPartition, at offset: Int64) throws -> Bool {
        try cluster.tool(
            "kafka-transactions",
            [
                "abort", "--topic", settings.prefix + place.topic.name, "--partition",
                "\(place.partition)", "--start-offset", "\(offset)",
            ])
        return true
    }

    /// Lets the brokers compact the table as soon as they can, or as they do by themselves.
    func compactThrottle(_ isEager: Bool) throws {
        let settings = ["segment.ms=500", "min.cleanable.dirty.ratio=0.001"]
        let names = settings.map { $0.components(separatedBy: "=")[0] }
        try cluster.tool(
            "kafka-configs",
            [
                "--alter", "--entity-type", "topics", "--entity-name",
                self.settings.prefix + Topic.throttle.name,
                isEager ? "--add-config" : "--delete-config",
                (isEager ? settings : names).joined(separator: ","),
            ])
    }
}
