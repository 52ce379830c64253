// From checked events to records in the log.

import AdBrakeProducer
import BrakeWire
import EventLog
import HTTPServer
import Runtime

/// An upload that has been cut into records, and the bytes it was cut from.
struct Delivery {
    var upload: Upload
    var body: [UInt8]
}

/// Appends uploads and returns once the log has them.
struct Intake: Sendable {
    /// Dead letters kept of one upload; more are counted only, so that a flood stays small.
    static let deadLettersMax = 20
    private static let retryAfterSeconds = "1"

    private let gate: RecordGate
    private let logger: Logger
    private let metrics: CollectMetrics
    private let room: WaitingRoom
    private let clocks: Clocks

    init(
        log: any EventLog, room: WaitingRoom, logger: Logger, metrics: CollectMetrics,
        clocks: Clocks
    ) {
        gate = RecordGate(log)
        self.room = room
        self.logger = logger
        self.metrics = metrics
        self.clocks = clocks
    }

    /// Refuses before a body is read that would only wait.
    var refusal: Response? { room.isFull ? Self.full : nil }

    /// Appends it all; nil: the log has it, else the refusal.
    func take(_ deliveries: [Delivery]) -> Response? {
        let records = deliveries.flatMap(\.upload.records)
        let letters = deliveries.flatMap { deadLetters($0) }
        let bytes =
            records.reduce(0) { $0 + $1.value.count } + letters.reduce(0) { $0 + $1.bytes }
        guard room.enter(bytes) else { return Self.full }
        defer { room.leave(bytes) }
        let begun = clocks.monotonicNanoseconds()
        do throws(LogFault) {
            try gate.append(records, with: letters)
        } catch {
            logger.warning("an upload could not be appended", ["fault": LogValue(error)])
            return Response.error(
                503, reason: "log", "the log cannot take events at present",
                hint: "Nothing of this upload was acknowledged: send it again."
            ).with("Retry-After", Self.retryAfterSeconds)
        }
        metrics.appended(seconds: Double(clocks.monotonicNanoseconds() - begun) / 1e9)
        for delivery in deliveries { count(delivery.upload) }
        return nil
    }

    private func count(_ upload: Upload) {
        for record in upload.records { metrics.accepted(record.type, record.count) }
        for event in upload.rejected { metrics.rejected(event.reason) }
    }

    private func deadLetters(_ delivery: Delivery) -> [OutgoingRecord] {
        let now = clocks.wallMilliseconds()
        return delivery.upload.rejected.prefix(Self.deadLettersMax).map { event in
            let letter = unsafe delivery.body.withUnsafeBytes { bytes in
                unsafe DeadLetter(
                    stage: .collect, topic: "upload", partition: -1, offset: -1, append: now,
                    app: event.app, event: event, value: bytes)
            }
            return OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode())
        }
    }

    private static let full = Response.error(
        503, reason: "queue_full", "too many uploads wait for the log",
        hint: "Nothing of this upload was used: send it again."
    ).with("Retry-After", Intake.retryAfterSeconds)

    static let noParser = Response.error(
        503, reason: "parsers", "too many uploads are being read",
        hint: "Nothing of this upload was used: send it again."
    ).with("Retry-After", Intake.retryAfterSeconds)
}
