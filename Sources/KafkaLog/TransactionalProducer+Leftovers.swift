// Before another try: what the one before it may have left open is closed.

import CRdKafka
import EventLog
import Glibc

extension TransactionalProducer {
    /// How long the markers of an ordinary abort are waited for; they come within milliseconds.
    private static let markerMilliseconds: Int64 = 500
    private static let lookMilliseconds = 1_000
    private static let pauseMicroseconds: UInt32 = 20_000

    /// Makes sure that nothing of failed attempts can be committed by the next one. Throws while
    /// that cannot be known.
    func clearLeftovers(member: GroupMember, deadline: Int64) throws(LogFault) {
        guard !leftovers.isEmpty else { return }
        let doubtful = leftovers.doubtful
        if !doubtful.isEmpty {
            let left = max(1, Int(deadline - LogClock.steady.now()))
            let committed = try member.committed(doubtful, timeoutMilliseconds: left)
            leftovers.settle(by: committed.compactMapValues { CommitNote($0.note) })
            guard !leftovers.isEmpty else { return }
        }
        let open = try stillOpen()
        if !open.isEmpty {
            let places = open.map { "\($0.topic)[\($0.partition)]" }.joined(separator: ", ")
            settings.log(
                KafkaLogLine(
                    level: 4, facility: "LEFTOPEN",
                    message: "a failed commit is open in \(places): aborting it"))
            try writeAndAbort(open, deadline: deadline)
        }
        leftovers.clear()
    }

    /// Asked by clients that have just learnt who leads what.
    private func stillOpen() throws(LogFault) -> [OutgoingRecord] {
        let all = try ClusterInquiry(settings)
        defer { all.close() }
        let committed = try ClusterInquiry(settings, isCommitted: true)
        defer { committed.close() }
        let patience = LogClock.steady.now() + TransactionalProducer.markerMilliseconds
        while true {
            let open: [OutgoingRecord]
            do throws(RDKafkaError) {
                // In this order: what is written in between shall not seem to be open.
                let ends = try allEnds(all)
                open = leftovers.open(stable: try allEnds(committed), ends: ends)
            } catch {
                throw try all.confirmed(error, of: leftovers.places).fault(
                    "commit: look for leftovers", at: place, trouble: all.client.context.lastTrouble
                )
            }
            if open.isEmpty || LogClock.steady.now() >= patience { return open }
            usleep(TransactionalProducer.pauseMicroseconds)
        }
    }

    private func allEnds(_ inquiry: ClusterInquiry) throws(RDKafkaError) -> [TopicPartition: Int64]
    {
        let places = leftovers.places
        let ends = try inquiry.ends(
            of: places, timeoutMilliseconds: TransactionalProducer.lookMilliseconds)
        guard ends.count == places.count else {
            throw RDKafkaError(code: RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
        }
        return ends
    }
}
