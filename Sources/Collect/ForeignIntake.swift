// What the endpoints of other protocols do alike: events of ours go the way of all events.

import BrakeWire
import HTTPServer

/// Takes translated events into the log.
struct ForeignIntake: Sendable {
    /// The protocol's name in metrics.
    let name: String
    let gatekeeper: Gatekeeper
    let intake: Intake
    let metrics: CollectMetrics

    enum Outcome {
        /// The log has what could be used; so many events were ours but rejected.
        case taken(rejected: Int)
        case refused(Response)
    }

    func take(_ events: ForeignEvents, _ pass: Pass, with splitter: UploadSplitter) -> Outcome {
        for (what, count) in events.ignored { metrics.ignored(name, what, count) }
        gatekeeper.charge(pass, events: events.count)
        var deliveries: [Delivery] = []
        for body in events.uploads {
            switch Collector.split(body, with: splitter, pass.grant.scope) {
            case .success(let upload): deliveries.append(Delivery(upload: upload, body: body))
            // What we have written ourselves is within the limits and JSON; a mistake of ours in
            // that must not end the process at the wish of who sends.
            case .failure: metrics.ignored(name, "untranslatable", 1)
            }
        }
        if !deliveries.isEmpty, let refusal = intake.take(deliveries) { return .refused(refusal) }
        return .taken(rejected: deliveries.reduce(0) { $0 + $1.upload.rejected.count })
    }
}
