// Asks the edge for the state of each app, as the apps themselves would.
internal import BrakeModel
internal import BrakeWire
internal import HTTPClient
internal import Runtime

/// What the edge last said of an app.
struct EdgeState: Sendable, Equatable {
    var state: ThrottleState
    var revision: Int64

    /// Nil when the document is not one of an app. An unknown word is taken as the strictest state:
    /// whoever does not understand must not show more.
    init?(_ document: JSONValue?) {
        guard let document, let word = document["state"]?.text else { return nil }
        state = ThrottleState(name: word) ?? .halt
        revision = document["revision"]?.integer ?? 0
    }
}

/// Polls all apps in turn; the whole round takes a few seconds, longer for a large fleet.
struct FeedbackPoller {
    static let roundMilliseconds = 3_000
    /// A large fleet's round takes longer, so that the edge is not asked more often than this.
    static let requestsPerSecondMax = 200

    let edge: String
    let apps: [AppID]
    let stop: StopSignal
    /// By the app's index; nil until the edge has answered.
    let states: Monitor<[EdgeState?]>
    /// The last complaint, for a person.
    let trouble: Monitor<String?>

    func run() {
        let connection = HTTPConnection(limits: HTTPLimits(totalMilliseconds: 5_000))
        let reader = DocumentReader()
        var tags = [String?](repeating: nil, count: apps.count)
        let share = apps.count * 1_000 / Self.requestsPerSecondMax
        let pause = max(1, max(Self.roundMilliseconds, share) / apps.count)
        while !stop.isRequested {
            for index in apps.indices where !stop.isRequested {
                poll(index, &tags[index], on: connection, reader)
                stop.wait(milliseconds: pause)
            }
        }
    }

    private func poll(
        _ index: Int, _ tag: inout String?, on connection: HTTPConnection, _ reader: DocumentReader
    ) {
        var request = HTTPRequest.get("\(edge)/v1/apps/\(apps[index].text)")
        if let tag { request.headers.append(("If-None-Match", tag)) }
        do {
            let response = try connection.send(request) { stop.isRequested }
            switch response.status {
            // What is known stays; also while the edge cannot be reached.
            case 304: break
            case 200:
                guard let state = EdgeState(reader.read(response.body)) else {
                    return say("the edge answered something that is no state")
                }
                tag = response[header: "ETag"]
                states.withLock { $0[index] = state }
            default: return say("the edge answered \(response.status)")
            }
            trouble.withLock { $0 = nil }
        } catch {
            if error.kind != .stopped { say("\(error)") }
        }
    }

    private func say(_ text: String) {
        trouble.withLock { $0 = text }
    }
}
