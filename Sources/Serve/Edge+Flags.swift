// The OpenFeature Remote Evaluation Protocol: flags for clients that speak it already.

import BrakeModel
import BrakeWire
import HTTPServer

extension Edge {
    /// Contexts are small.
    static let flagBodyBytesMax = 16 << 10

    /// `POST /ofrep/v1/evaluate/flags/{key}`
    func flag(_ request: Request) -> Response {
        let key = request.parameter("key")
        do throws(FlagFault) {
            guard let flag = Flag(rawValue: key) else {
                let names = Flag.allCases.map(\.rawValue).joined(separator: ", ")
                throw FlagFault(.flagNotFound, "there is no such flag; there are \(names)")
            }
            let context = try FlagContext(body: request.body)
            let (served, caps) = stateAndCaps(for: context)
            let answer = try flag.evaluate(served, caps: caps, for: context)
            let body = JSONWriter.bytes { $0.write(flag, answer, served) }
            return Response.json(body).with("Cache-Control", "no-store")
        } catch {
            let body = JSONWriter.bytes { $0.write(key, error) }
            return Response.json(body, status: error.code == .flagNotFound ? 404 : 400)
                .with("Cache-Control", "no-store")
        }
    }

    /// `POST /ofrep/v1/evaluate/flags`
    func allFlags(_ request: Request) -> Response {
        do throws(FlagFault) {
            let context = try FlagContext(body: request.body)
            let (served, caps) = stateAndCaps(for: context)
            let body = JSONWriter.bytes { body in
                body.object { body in
                    body.array("flags") { list in
                        for flag in Flag.allCases {
                            do throws(FlagFault) {
                                let answer = try flag.evaluate(served, caps: caps, for: context)
                                list.write(flag, answer, served)
                            } catch {
                                list.write(flag.rawValue, error)
                            }
                        }
                    }
                    body.object("metadata") { $0.write(served) }
                }
            }
            // Nothing in it passes by itself: the same on all replicas.
            return .validated(
                request, EntityTag(of: body), cacheControl: "private, no-cache"
            ) { body }
        } catch {
            let body = JSONWriter.bytes { $0.write(nil, error) }
            return Response.json(body, status: 400).with("Cache-Control", "no-store")
        }
    }

    private func stateAndCaps(for context: FlagContext) -> (ServedState, FrequencyCaps) {
        let image = table.image
        let served = ServedState(of: context.app, in: image, now: now, settings: settings)
        metrics.handedOut(cause: served.cause)
        return (served, caps(of: served, in: context.country, context.annoyance, image))
    }
}

extension FlagContext {
    /// The context of a request: `{"context":{"targetingKey":DEVICE,"app":APP,…}}`.
    init(body: [UInt8]) throws(FlagFault) {
        guard let document = DocumentReader(bytesMax: Edge.flagBodyBytesMax).read(body),
            document.fields != nil
        else { throw FlagFault(.parseError, "the body is no JSON object") }
        guard let context = document["context"], context.fields != nil else {
            throw FlagFault(.invalidContext, "there is no context; give one with the app in it")
        }
        guard let app = context["app"]?.text.flatMap({ AppID($0) }) else {
            throw FlagFault(
                .invalidContext,
                "the context names no app; give its id as app, 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        self.app = app
        if let key = context["targetingKey"] {
            guard let person = key.text else {
                throw FlagFault(.invalidContext, "targetingKey is no text")
            }
            if !person.isEmpty { self.person = person }
        }
        isAsked = context["user_initiated"] == .bool(true)
        country = context["country"]?.text.flatMap { CountryCode($0) }
        switch context["nf"] {
        case nil: break
        case .integer(let count): annoyance = Annoyance(String(count))
        case let other?: annoyance = Annoyance(other.text ?? "")
        }
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ flag: Flag, _ answer: FlagAnswer, _ served: ServedState) {
        object { item in
            item.field("key", flag.rawValue)
            item.field("reason", answer.reason)
            item.field("variant", answer.variant)
            switch answer.value {
            case .text(let text): item.field("value", text)
            case .bool(let bool): item.field("value", bool)
            case .caps(let caps):
                item.object("value") { value in
                    value.field("per_hour", caps.perHour)
                    value.field("per_day", caps.perDay)
                }
            }
            item.object("metadata") { $0.write(served) }
        }
    }

    fileprivate mutating func write(_ key: String?, _ fault: FlagFault) {
        object { item in
            if let key { item.field("key", key) }
            item.field("errorCode", fault.code.rawValue)
            item.field("errorDetails", fault.details)
        }
    }

    fileprivate mutating func write(_ served: ServedState) {
        field("app", served.app.text)
        field("state", served.state.name)
        field("severity", served.state.severity)
        field("revision", served.revision)
        field("cause", served.cause)
        field("stale", served.isStale)
    }
}
