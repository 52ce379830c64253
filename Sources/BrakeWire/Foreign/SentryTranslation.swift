// What Sentry's SDKs report, as our events.

package import BrakeModel

/// As with Sentry itself, sessions decide about health: a crashed session is a fatal crash, told
/// once whatever else is told of it. An error event lends its details to the crashed session in the
/// same envelope (as the SDKs for phones send them); alone it is a soft error, or a crash that is
/// not counted, since its session comes in an envelope of its own (as with the SDKs for browsers
/// and servers) or is not tracked.
extension SentryEnvelope {
    /// Items that are not about sessions, crashes or errors; others are counted as `other`.
    private static let known: Set = [
        "attachment", "check_in", "client_report", "feedback", "form_data", "log", "metric_buckets",
        "otel_log", "profile", "profile_chunk", "raw_security", "replay_event", "replay_recording",
        "replay_video", "span", "statsd", "trace_metric", "transaction", "user_report",
    ]

    /// Our events made of the envelope, all of one app. The bytes are those it was read from.
    package func events(app: AppID, of bytes: [UInt8], _ reader: DocumentReader) -> ForeignEvents {
        var events = ForeignEvents()
        if isCut { events.ignore("framing") }
        var errors: [SentryError] = []
        var sessions: [JSONValue] = []
        for (index, item) in items.enumerated() {
            guard ["event", "session", "sessions"].contains(item.type) else {
                events.ignore(Self.known.contains(item.type) ? item.type : "other")
                continue
            }
            guard item.payload.count <= Self.payloadBytesMax else {
                events.ignore("too_large")
                continue
            }
            guard let payload = reader.read(Array(bytes[item.payload])), payload.fields != nil
            else {
                events.ignore("bad_json")
                continue
            }
            switch item.type {
            case "event": errors.append(SentryError(payload))
            case "session": sessions.append(payload)
            default:
                // Equal bytes have equal ids: what is sent again is recognised by them.
                let seed = StableHash.combine(Self.hash(bytes), UInt64(index))
                addAggregates(payload, app: app, seed: seed, to: &events)
            }
        }
        for session in sessions { addSession(session, app: app, &errors, to: &events) }
        for error in errors { add(error, app: app, to: &events) }
        return events
    }

    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe StableHash.of($0) }
    }

    // MARK: Sessions

    private func addSession(
        _ session: JSONValue, app: AppID, _ errors: inout [SentryError],
        to events: inout ForeignEvents
    ) {
        guard let sid = session["sid"]?.text, !sid.isEmpty,
            let started = MomentText.milliseconds(session["started"])
        else { return events.ignore("bad_session") }
        let device = session["did"]?.text
        let build = session["attrs"]?["release"]?.text
        let sent = sent
        func common(_ draft: inout ForeignEvents.Draft, _ suffix: String, at: Int64) {
            draft.id("id", sid + suffix)
            draft.id("session", sid)
            draft.id("device", device)
            draft.time("at", at)
            draft.time("sent", sent)
            draft.text("build", build)
        }
        let status = session["status"]?.text ?? "ok"
        let isDead = status == "crashed" || status == "abnormal"
        if session["init"] == .bool(true) {
            events.add(.session, app: app) { common(&$0, ":start", at: started) }
        }
        let end = MomentText.milliseconds(session["timestamp"]) ?? sent ?? started
        if isDead {
            let error = Self.takeFatal(&errors)
            let mechanism = session["abnormal_mechanism"]?.text
            let at = error?.at ?? end
            events.add(.crash, app: app) { draft in
                common(&draft, ":crash", at: at)
                draft.time("session_at", started)
                draft.bool("fatal", status == "crashed" || mechanism != "anr_background")
                draft.text("kind", status == "abnormal" ? "anr" : error?.kind ?? "exception")
                error?.carry(into: &draft)
            }
        } else if status == "exited" {
            events.add(.session, app: app) { draft in
                common(&draft, ":end", at: end)
                draft.text("phase", "end")
            }
        } else if session["init"] != .bool(true) {
            events.ignore("session_update")
        }
    }

    /// The error that has ended a session.
    private static func takeFatal(_ errors: inout [SentryError]) -> SentryError? {
        guard let index = errors.firstIndex(where: { $0.isFatal }) else { return nil }
        return errors.remove(at: index)
    }

    /// Numbers of sessions by the minute: each becomes a session of its own, without a device.
    private func addAggregates(
        _ payload: JSONValue, app: AppID, seed: UInt64, to events: inout ForeignEvents
    ) {
        guard let aggregates = payload["aggregates"]?.array else {
            return events.ignore("bad_session")
        }
        let build = payload["attrs"]?["release"]?.text
        for (index, aggregate) in aggregates.enumerated() {
            guard let started = MomentText.milliseconds(aggregate["started"]) else {
                events.ignore("bad_session")
                continue
            }
            let seed = StableHash.combine(seed, UInt64(index))
            func counted(_ key: String) -> Int {
                Int(min(max(aggregate[key]?.integer ?? 0, 0), Int64(ForeignEvents.eventsMax)))
            }
            let crashed = counted("crashed") + counted("abnormal")
            let all = crashed + counted("exited") + counted("errored")
            // What does not fit is not even counted one by one: a number costs nothing to send.
            let taken = min(all, events.room)
            events.ignore("too_many", all - taken)
            for number in 0..<taken {
                let sid = Hex.text(StableHash.combine(seed, UInt64(number)))
                func common(_ draft: inout ForeignEvents.Draft, _ suffix: String) {
                    draft.id("id", sid + suffix)
                    draft.id("session", sid)
                    draft.id("device", aggregate["did"]?.text)
                    draft.time("at", started)
                    draft.time("sent", sent)
                    draft.text("build", build)
                }
                events.add(.session, app: app) { common(&$0, ":start") }
                guard number < crashed else { continue }
                events.add(.crash, app: app) { draft in
                    common(&draft, ":crash")
                    draft.time("session_at", started)
                }
            }
        }
    }

    // MARK: Errors

    private func add(_ error: SentryError, app: AppID, to events: inout ForeignEvents) {
        guard error.severity != nil || error.isFatal else { return events.ignore("message") }
        let sent = sent
        events.add(error.isFatal ? .crash : .softError, app: app) { draft in
            draft.id("id", error.id)
            draft.id("device", error.device)
            draft.time("at", error.at)
            draft.time("sent", sent)
            draft.text("build", error.build)
            if error.isFatal {
                draft.bool("fatal", false)
                draft.text("kind", error.kind)
            } else {
                draft.text("severity", error.severity)
                draft.text("domain", error.type)
            }
            error.carry(into: &draft)
        }
    }
}
