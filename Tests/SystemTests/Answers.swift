// What an edge says, held against the log.
import BrakeModel
import BrakeWire
import EventLog
import HTTPClient
import Testing

/// An answer about an app, as far as tests look at it.
struct Answer {
    var status: Int
    var document: JSONValue

    init(about app: String, of address: String, _ connection: HTTPConnection) throws {
        let answer = try connection.get("\(address)/v1/apps/\(app)")
        status = answer.status
        document = try #require(DocumentReader().read(answer.body), "\(answer.text)")
    }

    var state: String? { document["state"]?.text }
    var cause: String? { document["cause"]?.text }
    var isStale: Bool { document["stale"] == .bool(true) }

    func tells(_ change: ThrottleChange) -> Bool {
        status == 200 && state == change.state.name && cause == change.cause.name
            && document["severity"]?.integer == Int64(change.state.severity)
            && document["revision"]?.integer == change.revision
            && document["since"]?.integer == change.since
    }
}

/// The edge says of every app what its last throttle record says, at a moment between changes.
func checkAnswers(of address: String, _ log: any EventLog) throws {
    let connection = HTTPConnection()
    for app in Workload.apps {
        _ = try eventually("the edge tells the last state of \(app)") { () -> Bool? in
            let record = try log.throttleRecords().last { $0.change.app.text == app }
            let answer = try Answer(about: app, of: address, connection)
            return record.map { answer.tells($0.change) } ?? false ? true : nil
        }
    }
}
