// What OpenTelemetry's semantic conventions report of sessions and crashes, as our events.

package import BrakeModel

extension OTLPLogs {
    private static let errorSeverity: UInt64 = 17
    private static let fatalSeverity: UInt64 = 21

    /// Our events made of the log records. The app of a record follows from what its resource says
    /// of the service; nil: the sender may not report for that.
    package func events(app: (_ named: String?) -> AppID?) -> ForeignEvents {
        var events = ForeignEvents()
        events.ignore("too_many", left)
        for record in records {
            guard let app = app(record["adbrake.app"] ?? record["service.name"]) else {
                events.ignore("app")
                continue
            }
            Self.add(record, app: app, to: &events)
        }
        return events
    }

    private static func add(
        _ record: OTLPRecord, app: AppID, to events: inout ForeignEvents
    ) {
        let name = record.eventName.isEmpty ? record.attributes["event.name"] : record.eventName
        switch name {
        case "session.start": addSession(record, app, isEnd: false, to: &events)
        case "session.end": addSession(record, app, isEnd: true, to: &events)
        case "app.crash", "device.crash":
            addCrash(record, app, kind: "exception", isFatal: true, to: &events)
        // The app may have come back from it: what ends it is another event.
        case "app.anr", "device.anr":
            addCrash(record, app, kind: "anr", isFatal: false, to: &events)
        default:
            guard record.attributes["exception.type"] != nil else { return events.ignore("log") }
            if record.severity >= fatalSeverity {
                addCrash(record, app, kind: "exception", isFatal: true, to: &events)
            } else if record.severity >= errorSeverity {
                addError(record, app, to: &events)
            } else {
                events.ignore("log")
            }
        }
    }

    private static func addSession(
        _ record: OTLPRecord, _ app: AppID, isEnd: Bool, to events: inout ForeignEvents
    ) {
        guard let session = record["session.id"] else { return events.ignore("no_session") }
        let states = [record.attributes["android.app.state"], record.attributes["ios.app.state"]]
        events.add(.session, app: app) { draft in
            draft.id("id", session + (isEnd ? ":end" : ":start"))
            common(record, into: &draft)
            if isEnd { draft.text("phase", "end") }
            if states.contains("background") { draft.bool("foreground", false) }
        }
    }

    private static func addCrash(
        _ record: OTLPRecord, _ app: AppID, kind: String, isFatal: Bool,
        to events: inout ForeignEvents
    ) {
        events.add(.crash, app: app) { draft in
            draft.id("id", id(of: record))
            common(record, into: &draft)
            draft.bool("fatal", isFatal)
            draft.text("kind", kind)
        }
    }

    private static func addError(
        _ record: OTLPRecord, _ app: AppID, to events: inout ForeignEvents
    ) {
        events.add(.softError, app: app) { draft in
            draft.id("id", id(of: record))
            common(record, into: &draft)
            draft.text("severity", "error")
            draft.text("domain", record.attributes["exception.type"])
        }
    }

    /// As it was given, else of what makes it this one, so that a second sending is recognised.
    private static func id(of record: OTLPRecord) -> String {
        if let id = record.attributes["app.crash.id"] ?? record.attributes["log.record.uid"] {
            return id
        }
        let who = StableHash.combine(
            StableHash.of(record["session.id"] ?? ""),
            StableHash.of(record["app.installation.id"] ?? record["device.id"] ?? ""))
        let what = StableHash.of(record.eventName + (record.attributes["exception.type"] ?? ""))
        return Hex.text(StableHash.combine(StableHash.combine(who, what), record.time))
    }

    private static func common(
        _ record: OTLPRecord, into draft: inout ForeignEvents.Draft
    ) {
        draft.id("session", record["session.id"])
        draft.id("device", record["app.installation.id"] ?? record["device.id"])
        let time = record.time > 0 ? record.time : record.observed
        if time > 0 { draft.time("at", Int64(clamping: time / 1_000_000)) }
        draft.text("build", record["service.version"] ?? record["app.build_id"])
        draft.text("os", record["os.name"] ?? record["os.type"])
        draft.text("model", record["device.model.identifier"] ?? record["device.model.name"])
    }
}

/// The answers that OTLP asks for.
package enum OTLPAnswer {
    /// What became of a request: how many records were not used, and why.
    package static func success(rejected: Int, message: String, isJSON: Bool) -> [UInt8] {
        if isJSON {
            return JSONWriter.bytes { answer in
                answer.object { answer in
                    guard rejected > 0 else { return }
                    answer.object("partialSuccess") { partial in
                        // A 64-bit number is a text in this JSON.
                        partial.field("rejectedLogRecords", "\(rejected)")
                        partial.field("errorMessage", message)
                    }
                }
            }
        }
        guard rejected > 0 else { return [] }
        var partial = ProtobufWriter()
        partial.number(1, UInt64(rejected))
        partial.bytes(2, Array(message.utf8))
        var answer = ProtobufWriter()
        answer.bytes(1, partial.bytes)
        return answer.bytes
    }

    /// A status message, as for a request that was refused.
    package static func failure(_ message: String, isJSON: Bool) -> [UInt8] {
        if isJSON {
            return JSONWriter.bytes { answer in
                answer.object { $0.field("message", message) }
            }
        }
        var answer = ProtobufWriter()
        answer.bytes(2, Array(message.utf8))
        return answer.bytes
    }
}
