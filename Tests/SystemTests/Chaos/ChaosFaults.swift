// The faults that are made under load, each in the way it comes in life.
import BrakeModel
import EventLog
import Foundation
import KafkaLog
import ProcessTestSupport
import Runtime
import Testing

extension ChaosFault {
    /// Longer than a session, so that the group gives a silent member up.
    private static let beyondSession = 13_000

    private static func pause(_ milliseconds: Int) { StopSignal().wait(milliseconds: milliseconds) }

    static let names = underLoad(nil).map(\.name)

    /// All that two evaluators, `a` and, through the relay, `b` go through.
    static func underLoad(_ relay: Relay?) -> [ChaosFault] {
        [
            workerKilled, workerDead, workerFrozen, workerReplaced, workerCut(relay),
            brokerKilled, brokerFrozen, brokerRestarted, outputsFrozen, collectorKilled,
            transactionsEnded, foreignTransaction, idsExpired,
        ]
    }

    private static let workerKilled = ChaosFault(name: "evaluator killed, restarted", times: 4) {
        arena, random in
        let name = random.chance(50) ? "a" : "b"
        pause(random.next(below: 2_000))
        try arena.kill(name)
        try arena.start(name, relayed: name == "b")
        // Some of them while they still restore.
        pause(random.next(below: 4_000))
    }

    private static let workerDead = ChaosFault(name: "evaluator killed, taken over", times: 1) {
        arena, random in
        pause(random.next(below: 1_000))
        try arena.kill("a")
        try arena.recover()
        try arena.start("a")
    }

    /// A zombie: another one has taken over when it goes on.
    private static let workerFrozen = ChaosFault(name: "evaluator frozen, thawed", times: 2) {
        arena, random in
        let frozen = try arena.worker(random.chance(50) ? "a" : "b")
        pause(random.next(below: 1_000))
        frozen.signal(SIGSTOP)
        pause(beyondSession)
        try arena.recover()
        frozen.signal(SIGCONT)
        pause(2_000)
    }

    /// A supervisor that starts it a second time under the same name, since it does not answer.
    private static let workerReplaced = ChaosFault(name: "evaluator frozen, replaced", times: 1) {
        arena, _ in
        let frozen = try arena.release("a")
        frozen.signal(SIGSTOP)
        try arena.start("a")
        try arena.recover()
        frozen.signal(SIGCONT)
        let ending = try frozen.waitForEnd()
        guard case .exited(let status) = ending, status != 0,
            frozen.complaints.contains("runs under the same instance name")
        else {
            throw ChaosFailure(
                "the one that was replaced ended as \(ending): \(ChaosArena.last(of: frozen))")
        }
    }

    private static func workerCut(_ relay: Relay?) -> ChaosFault {
        ChaosFault(name: "evaluator cut off", times: 1) { arena, random in
            pause(random.next(below: 1_000))
            relay?.cut(true)
            defer { relay?.cut(false) }
            pause(beyondSession)
            try arena.recover()
        }
    }

    private static let brokerKilled = brokers("broker killed, restarted") { arena, broker, random in
        try arena.cluster.broker(broker, "kill")
        pause(2_000 + random.next(below: 4_000))
        try arena.cluster.broker(broker, "restart")
    }

    private static let brokerFrozen = brokers("broker frozen, thawed") { arena, broker, random in
        try arena.cluster.broker(broker, "pause")
        pause(8_000 + random.next(below: 6_000))
        try arena.cluster.broker(broker, "resume")
    }

    private static let brokerRestarted = brokers("broker restarted") { arena, broker, _ in
        try arena.cluster.broker(broker, "restart")
    }

    /// The outputs lie on one broker alone: while it is silent they have no leader, and what a
    /// transaction has written there ends without a marker.
    private static let outputsFrozen = ChaosFault(name: "outputs' only broker frozen", times: 3) {
        arena, random in
        let broker = ChaosCluster.brokers[random.next(below: ChaosCluster.brokers.count)]
        let outputs = [Topic.throttle, .notice, .epoch, .snapshot, .dead]
            .flatMap { arena.log.places(of: $0) }
            .map { (topic: arena.settings.prefix + $0.topic.name, partition: $0.partition) }
        try arena.cluster.move(outputs, to: [broker])
        pause(random.next(below: 1_000))
        try arena.cluster.broker(broker, "pause")
        // Longer than the cluster believes in a silent broker.
        pause(13_000)
        try arena.cluster.broker(broker, "resume")
        try arena.recover()
        try arena.cluster.move(outputs, to: ChaosCluster.brokers)
    }

    private static let collectorKilled = ChaosFault(name: "collector killed", times: 2) {
        arena, random in
        pause(random.next(below: 1_000))
        try arena.killCollector()
        try arena.startCollector()
    }

    /// Each broker in turn, the next once everything goes on.
    private static func brokers(
        _ name: String,
        _ make: @escaping @Sendable (ChaosArena, Int, inout SeededGenerator) throws -> Void
    ) -> ChaosFault {
        let turn = Monitor(ChaosCluster.brokers)
        return ChaosFault(name: name, times: ChaosCluster.brokers.count) { arena, random in
            let broker = turn.withLock { $0.removeFirst() }
            pause(random.next(below: 1_000))
            try make(arena, broker, &random)
            try arena.recover()
        }
    }
}

// What others do to transactions.
extension ChaosFault {
    /// An administrator, or a second producer of the same name, ends each lane's transaction.
    private static let transactionsEnded = ChaosFault(
        name: "transactions ended by others", times: 4
    ) { arena, random in
        let name = random.chance(50) ? "a" : "b"
        let id = "\(arena.settings.prefix)\(name)-\(random.next(below: ChaosArena.lanes))"
        try arena.cluster.tool(
            "kafka-transactions", ["forceTerminateTransaction", "--transactionalId", id])
    }

    /// Nobody can read beyond it: a restore must wait for its end, and then have what came behind.
    private static let foreignTransaction = ChaosFault(
        name: "foreign transaction held open", times: 1
    ) { arena, _ in
        let outputs = [Topic.epoch, .throttle, .snapshot].flatMap { arena.log.places(of: $0) }
        let foreign = try ForeignWriter(
            arena.settings,
            writing: outputs.map {
                OutgoingRecord(
                    $0.topic, partition: $0.partition, key: Array("foreign".utf8),
                    value: Array("not ours".utf8))
            })
        // Epochs behind it, which the restore has to find.
        pause(3_000)
        try arena.kill("a")
        let restoring = try arena.start("a")
        pause(6_000)
        guard !restoring.complaints.contains("partitions restored") else {
            throw ChaosFailure("restored under an open transaction: \(restoring.complaints)")
        }
        try foreign.abort()
        _ = try restoring.line(with: "partitions restored")
    }

    /// A spare evaluator waits so long that the brokers forget its names; then it is needed.
    private static let idsExpired = ChaosFault(name: "transactional.id expired", times: 1) {
        arena, _ in
        // In order of name the last gets nothing while there are others enough.
        let spare = try arena.start("z")
        defer { spare.close() }
        let names = (0..<ChaosArena.lanes).map { "\(arena.settings.prefix)z-\($0)" }
        func known() throws -> [String] {
            let list = try arena.cluster.tool("kafka-transactions", ["list"])
            return names.filter { list.contains($0) }
        }
        _ = try eventually("the brokers know the spare's names") {
            try known().isEmpty ? nil : true
        }
        _ = try eventually("the brokers forget the spare's names") {
            try known().isEmpty ? true : nil
        }
        try arena.kill("b")
        // What was in the log may have been counted before; the spare comes when a session is over.
        _ = try spare.line(with: "partitions assigned")
        try arena.recover()
        try arena.start("b", relayed: true)
        try arena.stop("z")
    }
}
