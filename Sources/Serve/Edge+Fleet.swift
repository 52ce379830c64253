// Answers about the fleet: its apps in pages, what happened lately, and the stream of changes.

import BrakeModel
import BrakeWire
import HTTPServer

extension Edge {
    /// The most apps that a stream may be asked for by name.
    static let streamAppsMax = 100

    /// `GET /v1/apps?after=&limit=&state=`
    func fleet(_ request: Request) -> Response {
        var query = FleetQuery()
        if let after = request.query("after"), !after.isEmpty {
            guard let app = AppID(after) else { return Self.badApp }
            query.after = app
        }
        if let word = request.query("state"), !word.isEmpty {
            guard let state = ThrottleState(name: word) else {
                let names = ThrottleState.allCases.map(\.name).joined(separator: ", ")
                return .error(400, "unknown state", hint: "One of \(names).")
            }
            query.state = state
        }
        guard let limit = Self.limit(of: request, max: FleetQuery.limitMax) else {
            return Self.badLimit
        }
        query.limit = limit
        let now = self.now
        let image = table.image
        let page = FleetPage(query, of: image, now: now, settings: settings)
        let document = FleetDocument(
            page: page, counts: image.servedCounts(now: now, settings), isReady: image.isReady,
            ageMilliseconds: image.oldestAge(now: now), settings: settings)
        return .validated(request, document.entityTag, cacheControl: "no-cache") {
            document.bytes(now: now)
        }
    }

    /// `GET /v1/changes?limit=`, newest first.
    func changes(_ request: Request) -> Response {
        guard let limit = Self.limit(of: request, max: RecentHistory.entriesMax) else {
            return Self.badLimit
        }
        return list("changes", history.changes(limit: limit)) { $0.write($1) }
    }

    /// `GET /v1/notices?limit=`, newest first.
    func notices(_ request: Request) -> Response {
        guard let limit = Self.limit(of: request, max: RecentHistory.entriesMax) else {
            return Self.badLimit
        }
        return list("notices", history.notices(limit: limit)) { $0.write($1) }
    }

    /// `GET /v1/stream?app=A,B`
    func stream(_ request: Request) -> Response {
        var apps: Set<AppID>?
        if let names = request.query("app"), !names.isEmpty {
            let ids = names.split(separator: ",").map { AppID($0) }
            guard ids.count <= Self.streamAppsMax, !ids.isEmpty, !ids.contains(nil) else {
                return .error(
                    400, "not a list of app ids",
                    hint: "Up to \(Self.streamAppsMax) ids with commas between them.")
            }
            apps = Set(ids.compactMap { $0 })
        }
        if request.method == .head {
            return Response(200).with("Content-Type", "text/event-stream")
                .with("Cache-Control", "no-store")
        }
        let last = request.headers["Last-Event-ID"]
        guard let stream = hub.open(apps: apps, lastEventID: last) else {
            // Rounded up, as the field knows whole seconds only.
            let seconds = (settings.streams.drawRetryMilliseconds() + 999) / 1_000
            return Response.error(
                503, "too many streams", hint: "Ask GET /v1/apps, or come back later."
            ).with("Retry-After", String(seconds))
        }
        // Proxies that buffer would hold changes back.
        return Response.stream(stream).with("X-Accel-Buffering", "no")
    }

    private func list<Entry>(
        _ name: StaticString, _ entries: [Entry], _ write: (inout JSONWriter, Entry) -> Void
    ) -> Response {
        let body = JSONWriter.bytes { body in
            body.object { body in
                body.array(name) { list in
                    for entry in entries { write(&list, entry) }
                }
                body.field("issued_at", now)
            }
        }
        return Response.json(body).with("Cache-Control", "no-cache")
    }

    /// Nil: not a number from 1 on. More than the most is the most.
    private static func limit(of request: Request, max: Int) -> Int? {
        guard let text = request.query("limit"), !text.isEmpty else { return max }
        guard let limit = Int(text), limit > 0 else { return nil }
        return min(limit, max)
    }

    private static let badLimit = Response.error(
        400, "limit is not a number", hint: "Give a whole number from 1 on.")
}
