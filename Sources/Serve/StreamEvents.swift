// The bytes of server-sent events.

import BrakeModel
import BrakeWire

/// Makes events; pure.
struct StreamEvents: Sendable {
    let settings: ServeSettings

    /// A change of an app, or where it stands now.
    func throttle(
        _ app: AppID, _ entry: AppEntry?, id: StreamPosition, in image: TableImage, now: Int64
    ) -> [UInt8] {
        let served = ServedState(app, entry, image.shard(of: app), image, now, settings)
        return event("throttle", id: id) { data in
            AppDocument(served, settings).writeWithReason(into: &data, now: now)
        }
    }

    func notice(_ notice: Notice) -> [UInt8] {
        event("notice", id: nil) { $0.write(notice) }
    }

    /// Forget what you know: what follows are the states that are not Normal, or some of them.
    func reset(id: StreamPosition, apps: Int, states: Int) -> [UInt8] {
        event("reset", id: id) { data in
            data.object { data in
                data.field("apps", apps)
                data.field("states", states)
                data.field("complete", states == apps)
            }
        }
    }

    /// A comment that keeps the connection open, the position, and how old the states are.
    func heartbeat(id: StreamPosition, in image: TableImage, now: Int64) -> [UInt8] {
        let age = image.oldestAge(now: now)
        return Array(": heartbeat\n".utf8)
            + event("age", id: id) { data in
                data.object { data in
                    data.field("issued_at", now)
                    data.field("age_ms", age)
                    data.field("ready", image.isReady)
                    data.field("stale", age > settings.staleAfterMilliseconds)
                    data.field("expired", age > settings.validityMilliseconds)
                }
            }
    }

    static func retry(milliseconds: Int64) -> [UInt8] {
        Array("retry: \(milliseconds)\n\n".utf8)
    }

    private func event(
        _ name: String, id: StreamPosition?, _ write: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        if let id { bytes += "id: \(id.text)\n".utf8 }
        bytes += "event: \(name)\ndata: ".utf8
        // JSON without line breaks: one line of data.
        bytes += JSONWriter.bytes(capacity: 1_024, write)
        bytes += "\n\n".utf8
        return bytes
    }
}
