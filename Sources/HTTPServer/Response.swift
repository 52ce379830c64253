// A response as handlers make it.
import Runtime

package struct Response: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Sent as it comes, until the stream is finished.
        case stream(ResponseStream)
    }

    package var status: Int
    package var headers: Headers
    package var body: Body
    /// Why the request was refused, a word for metrics; nil for the status alone to say it.
    package var reason: StaticString?
    /// What went wrong, for those who put it otherwise than `error` does; empty for an answer.
    package private(set) var message = ""
    /// Set when the answer to this target is the same for everyone, for a moment.
    package var reuse: ReusableAnswer?

    package init(_ status: Int, headers: Headers = Headers(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    package static func text(
        _ text: String, type: String = "text/plain; charset=utf-8", status: Int = 200
    ) -> Response {
        Response(status, headers: Headers([("Content-Type", type)]), body: Array(text.utf8))
    }

    /// A body which is JSON already.
    package static func json(_ bytes: [UInt8], status: Int = 200) -> Response {
        Response(status, headers: Headers([("Content-Type", "application/json")]), body: bytes)
    }

    /// `{"error":…,"hint":…}`: what went wrong, and what the caller can do; the reason is a word
    /// for metrics. Not to be kept: without a word about it, caches may keep 404, 405 and others
    /// for as long as they like.
    package static func error(
        _ status: Int, reason: StaticString? = nil, _ error: String, hint: String
    ) -> Response {
        let text =
            "{\"error\":\(JSONText.quoted(error)),\"hint\":\(JSONText.quoted(hint))}\n"
        var response = json(Array(text.utf8), status: status).with("Cache-Control", "no-store")
        response.reason = reason
        response.message = "\(error). \(hint)"
        return response
    }

    /// Server-sent events or anything else without an end known in advance.
    package static func stream(
        _ stream: ResponseStream, type: String = "text/event-stream"
    ) -> Response {
        var response = Response(200)
        response.headers.add("Content-Type", type)
        response.headers.add("Cache-Control", "no-store")
        response.body = .stream(stream)
        return response
    }

    /// The same with one more header field.
    package func with(_ name: String, _ value: String) -> Response {
        var response = self
        response.headers.set(name, value)
        return response
    }

    /// The bytes of a body which is no stream.
    package var bytes: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }
}
