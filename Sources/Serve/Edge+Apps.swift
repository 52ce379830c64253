// Answers for apps: the document of one, and its caps.

import BrakeModel
import BrakeWire
import HTTPServer
import Runtime

extension Edge {
    /// `GET /v1/apps/{app}`
    func app(_ request: Request) -> Response {
        guard let app = AppID(request.parameter("app")) else { return Self.badApp }
        let now = self.now
        let served = ServedState(of: app, in: table.image, now: now, settings: settings)
        let document = AppDocument(served, settings)
        let counter = metrics.documents(cause: served.cause)
        counter.add()
        return .validated(
            request, document.entityTag, cacheControl: document.cacheControl,
            milliseconds: document.reusableMilliseconds, counter: counter,
            body: document.bytes(now: now))
    }

    /// `GET /api/ad/freq-cap?app=&nf=`
    func frequencyCap(_ request: Request) -> Response {
        guard let app = request.query("app").flatMap({ AppID($0) }) else { return Self.badApp }
        let image = table.image
        let served = ServedState(of: app, in: image, now: now, settings: settings)
        let country = request.headers[settings.countryHeader].flatMap { CountryCode($0) }
        let caps = caps(of: served, in: country, Annoyance(request.query("nf")), image)
        let body = JSONWriter.bytes { body in
            body.object { body in
                body.field("capPerHour", caps.perHour)
                body.field("capPerDay", caps.perDay)
                body.field("ttlSec", settings.capTTLSeconds)
            }
        }
        // Not for shared caches: it depends on who asks from where.
        return Response.validated(
            request, EntityTag(of: body), cacheControl: "private, no-cache"
        ) { body }
        .with("Vary", settings.countryHeader)
    }

    /// How often a person somewhere may be shown ads between screens.
    func caps(
        of served: ServedState, in country: CountryCode?, _ annoyance: Annoyance,
        _ image: TableImage
    ) -> FrequencyCaps {
        image.caps.base(of: served.app, in: country)
            .eased(by: max(annoyance, served.annoyance(in: country)))
            .allowed(in: served.state)
    }

    /// `GET /readyz`
    func readiness() -> Response {
        let image = table.image
        let body = JSONWriter.bytes { body in
            body.object { body in
                body.field("ready", image.isReady)
                body.field("source", image.source.name)
                body.field("age_ms", image.oldestAge(now: now))
            }
        }
        return Response.json(body, status: image.isReady ? 200 : 503)
            .with("Cache-Control", "no-store")
    }

    static let badApp = Response.error(
        400, "no app id, or one that is none",
        hint: "An app id has 1 to 64 characters of A-Z a-z 0-9 . _ -")
}

extension TableImage.Source {
    /// The word used in answers.
    var name: String {
        switch self {
        case .nothing: "nothing"
        case .bootstrap: "bootstrap"
        case .backup: "backup"
        case .log: "log"
        }
    }
}
