// Events of a server into the log, without a collector in between.

internal import BrakeModel
internal import BrakeWire
package import EventLog
internal import Runtime

/// Sends events to AdBrake's topics: gathers them into records of one type and app, gives each the
/// key and partition that the evaluator expects, and holds no more than it may.
///
/// Any thread may call it. Events of an app reach the log in the order in which they were sent, and
/// are counted at least once: whoever sends one again after a fault gives it an id. `send` blocks
/// when the buffer is full, so it does not belong in a task of Swift's own pool.
public final class Producer: Sendable {
    /// What one append takes, at least one record.
    private static let appendBytesMax = 8 << 20

    private struct State: Sendable {
        var buffer: BatchBuffer
        var isClosed = false
        /// Flushes asked for; those for which all was taken, whether it was due or not; and those
        /// for which all that was taken has been answered.
        var flushesAsked = 0
        var flushesTaken = 0
        var flushesDone = 0
    }

    /// What callers share with the thread that appends.
    private struct Shared: Sendable {
        let state: Monitor<State>
        /// Rung when the thread has something to do sooner than it thinks. Apart from the state, so
        /// that not every event wakes it.
        let bell = Monitor(0)

        func ring() { bell.withLock { $0 &+= 1 } }
    }

    private let log: any EventLog
    private let settings: ProducerSettings
    private let shared: Shared
    private let thread: Monitor<WorkerThread?>

    /// A producer on a log that is open; `close` closes that as well.
    package init(_ log: any EventLog, settings: ProducerSettings = ProducerSettings()) {
        let settings = settings.bounded
        self.log = log
        self.settings = settings
        shared = Shared(state: Monitor(State(buffer: BatchBuffer(settings))))
        let (shared, gate) = (shared, RecordGate(log))
        thread = Monitor(WorkerThread(name: "producer") { Producer.run(shared, gate) })
    }

    /// Takes an event and tells where to learn what became of it. An event without a time gets that
    /// of this machine.
    ///
    /// Waits for room when the buffer is full, for `blockMilliseconds` at most. Throws `invalid`
    /// for what breaks the contract, `full`, or `closed`.
    @discardableResult
    public func send(_ report: Report) throws(ProducerFault) -> Delivery {
        let now = SystemClock.wallMilliseconds()
        let report = report.context.at == nil ? report.happening(at: now) : report
        let event = try report.encode()
        var needsRing = false
        let outcome = shared.state.wait(milliseconds: settings.blockMilliseconds) {
            state -> Result<Delivery, ProducerFault>? in
            if state.isClosed { return .failure(.closed) }
            guard state.buffer.hasRoom(for: event.count) else { return nil }
            let wasEmpty = state.buffer.isEmpty
            let delivery = state.buffer.add(
                report, event, now: SystemClock.monotonicMilliseconds())
            needsRing = wasEmpty || state.buffer.hasClosed || state.buffer.isPressing
            return .success(delivery)
        }
        if needsRing { shared.ring() }
        return try (outcome ?? .failure(.full)).get()
    }

    /// Appends all that was sent before, without waiting for more; false when that takes longer.
    public func flush(timeoutMilliseconds: Int) -> Bool {
        let ticket = shared.state.withLock { state in
            state.flushesAsked += 1
            return state.flushesAsked
        }
        shared.ring()
        return shared.state.wait(milliseconds: timeoutMilliseconds) { state in
            state.flushesDone >= ticket ? true : nil
        } ?? false
    }

    /// The bytes of events that the log has not answered for.
    public var bufferedBytes: Int { shared.state.read { $0.buffer.bytes } }

    /// Takes no more events, appends those taken before, and closes the log. Returns once each
    /// delivery has its result; at most once, and no other call may follow.
    public func close() {
        shared.state.withLock { $0.isClosed = true }
        shared.ring()
        let worker = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let worker else { return }
        worker.join()
        log.close()
    }

    /// Appends what is due until the producer is closed and nothing is left.
    private static func run(_ shared: Shared, _ gate: RecordGate) {
        while let records = nextRecords(shared) {
            var rest = records[...]
            while !rest.isEmpty {
                var bytes = 0
                let group = rest.prefix { record in
                    defer { bytes += record.record.value.count }
                    return bytes == 0 || bytes + record.record.value.count <= appendBytesMax
                }
                rest = rest.dropFirst(group.count)
                append(Array(group), shared.state, gate)
            }
        }
    }

    private static func append(
        _ group: [GatheredRecord], _ state: Monitor<State>, _ gate: RecordGate
    ) {
        let result = Result { () throws(LogFault) in
            try gate.append(group.map(\.record))
            return Delivery.Receipt()
        }.mapError { ProducerFault($0) }
        for record in group { record.delivery.finish(result) }
        let bytes = group.reduce(0) { $0 + $1.bytes }
        state.withLock { $0.buffer.release(bytes) }
    }

    private enum Step {
        case append([GatheredRecord])
        case wait(milliseconds: Int?)
        case end
    }

    /// Waits for records that are due; nil when there will be no more.
    private static func nextRecords(_ shared: Shared) -> [GatheredRecord]? {
        while true {
            let rings = shared.bell.read { $0 }
            switch shared.state.withLock({ step(&$0) }) {
            case .append(let records): return records
            case .end: return nil
            case .wait(let milliseconds):
                _ = shared.bell.wait(milliseconds: milliseconds) { $0 == rings ? nil : true }
            }
        }
    }

    private static func step(_ state: inout State) -> Step {
        let now = SystemClock.monotonicMilliseconds()
        // The thread is back: what it has taken before was answered.
        state.flushesDone = state.flushesTaken
        let isAsked = state.flushesAsked > state.flushesTaken
        let records = state.buffer.takeDue(
            now: now, all: state.isClosed || isAsked || state.buffer.isPressing)
        state.flushesTaken = state.flushesAsked
        if !records.isEmpty { return .append(records) }
        state.flushesDone = state.flushesTaken
        if state.isClosed { return .end }
        return .wait(milliseconds: state.buffer.nextDue.map { Int(max(0, $0 - now)) })
    }
}

extension Report {
    fileprivate func happening(at time: Int64) -> Report {
        switch self {
        case .session(var report):
            report.context.at = time
            return .session(report)
        case .crash(var report):
            report.context.at = time
            return .crash(report)
        case .softError(var report):
            report.context.at = time
            return .softError(report)
        case .ad(var report):
            report.context.at = time
            return .ad(report)
        }
    }
}
