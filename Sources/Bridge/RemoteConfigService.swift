// Remote Config over REST: read the template with its tag, put another one in the place of exactly
// that one. One blocking call at a time, on the bridge's thread.

import BrakeWire
import HTTPClient
import Runtime

/// The service as the bridge needs it. Belongs to one thread.
final class RemoteConfigService {
    /// A token is renewed so long before it ends: calls take time, and clocks differ.
    private static let renewSeconds: Int64 = 300
    /// How many pages of versions are looked through for the last one of ours.
    private static let versionPagesMax = 3

    /// A template with what tells it from every other.
    struct Fetched {
        var template: RemoteConfigTemplate
        /// As the service gave it.
        var tag: String
        /// Who has published it; nil: the service does not say.
        var author: String?
    }

    private struct Token {
        var text: String
        /// Seconds since 1970.
        var endsAt: Int64
    }

    private let account: ServiceAccount
    private let address: String
    private let parameter: String
    private let clocks: Clocks
    private let connection: HTTPConnection
    private let isCancelled: () -> Bool
    private var token: Token?

    init(
        _ settings: BridgeSettings, clocks: Clocks, isCancelled: @escaping () -> Bool
    ) {
        account = settings.account
        address = "\(settings.api)/v1/projects/\(settings.project)/remoteConfig"
        parameter = settings.parameter
        self.clocks = clocks
        self.isCancelled = isCancelled
        // Without gzip the service leaves the tag out.
        connection = HTTPConnection(
            limits: HTTPLimits(totalMilliseconds: settings.callMilliseconds), acceptsGzip: true)
    }

    /// The template that holds now. Throws when it comes without a tag: to write without one is to
    /// write over what others do.
    func fetch() throws(BridgeFault) -> Fetched {
        let response = try send("read the template", .get(address))
        guard let tag = response[header: "ETag"], !tag.isEmpty, tag != "*" else {
            throw BridgeFault(
                "read the template", reason: "the answer has no ETag; nothing will be written",
                hint: "does something between here and the service take out header fields or gzip?",
                remedy: .stop)
        }
        let document = DocumentReader(bytesMax: RemoteConfigTemplate.bytesMax).read(response.body)
        return Fetched(
            template: try RemoteConfigTemplate(response.body, parameter: parameter), tag: tag,
            author: document?["version"]?["updateUser"]?["email"]?.text)
    }

    /// Publishes a template in the place of the one with this tag.
    func publish(_ template: [UInt8], over tag: String) throws(BridgeFault) {
        precondition(tag != "*", "a template is never written over whatever is there")
        _ = try send(
            "publish the template",
            HTTPRequest(
                "PUT", address,
                headers: [
                    ("If-Match", tag), ("Content-Type", "application/json; charset=utf-8"),
                ],
                body: template))
    }

    /// The last template that this account has published; nil: none that the service still has.
    func lastOwn(newest: Fetched) throws(BridgeFault) -> RemoteConfigTemplate? {
        if newest.author == account.email { return newest.template }
        var page: String?
        for _ in 0..<Self.versionPagesMax {
            var url = address + ":listVersions?pageSize=100"
            if let page { url += "&pageToken=\(page)" }
            let response = try send("list the versions", .get(url))
            let list = DocumentReader(bytesMax: RemoteConfigTemplate.bytesMax).read(response.body)
            let own = list?["versions"]?.array?.first {
                $0["updateUser"]?["email"]?.text == account.email
            }
            if let number = own?["versionNumber"].flatMap({ $0.text ?? $0.integer?.description }) {
                let text = try send(
                    "read an earlier version", .get(address + "?versionNumber=\(number)"))
                return try RemoteConfigTemplate(text.body, parameter: parameter)
            }
            page = list?["nextPageToken"]?.text
            guard page?.isEmpty == false else { return nil }
        }
        return nil
    }

    // MARK: Calls

    private func send(
        _ operation: String, _ request: HTTPRequest
    ) throws(BridgeFault) -> HTTPResponse {
        do throws(BridgeFault) {
            return try sendOnce(operation, request)
        } catch {
            // A token may be taken back before its time: once more with another one.
            guard error.remedy == .token else { throw error }
            token = nil
            return try sendOnce(operation, request)
        }
    }

    private func sendOnce(
        _ operation: String, _ request: HTTPRequest
    ) throws(BridgeFault) -> HTTPResponse {
        var request = request
        let token = try currentToken()
        request.headers.append(("Authorization", "Bearer \(token)"))
        let response = try call(operation, request)
        guard response.status == 200 else { throw fault(operation, response) }
        return response
    }

    private func call(
        _ operation: String, _ request: HTTPRequest
    ) throws(BridgeFault) -> HTTPResponse {
        do throws(HTTPFault) {
            return try connection.send(request, isCancelled: isCancelled)
        } catch {
            throw BridgeFault(
                operation, reason: "\(error.place): \(error.reason)", hint: error.hint,
                remedy: error.isRetriable ? .retry(afterSeconds: nil) : .stop)
        }
    }

    private func currentToken() throws(BridgeFault) -> String {
        let now = clocks.wallMilliseconds() / 1_000
        if let token, now < token.endsAt - Self.renewSeconds { return token.text }
        let proof = try account.proof(nowSeconds: now)
        let body =
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(proof)"
        let request = HTTPRequest.post(
            account.tokenAddress,
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(body.utf8))
        let response = try call("get a token", request)
        guard response.status == 200 else {
            var fault = fault("get a token", response)
            // Here it is not about a token, but about the account.
            if fault.remedy == .token || fault.remedy == .conflict { fault.remedy = .stop }
            throw fault
        }
        let document = DocumentReader().read(response.body)
        guard let text = document?["access_token"]?.text,
            let seconds = document?["expires_in"]?.integer
        else {
            throw BridgeFault(
                "get a token", reason: "the answer has no access_token and expires_in",
                hint: "is token_uri of the key file the address of Google's tokens?", remedy: .stop)
        }
        token = Token(text: text, endsAt: now + seconds)
        return text
    }

    private func fault(_ operation: String, _ response: HTTPResponse) -> BridgeFault {
        let document = DocumentReader().read(response.body)
        // Of Remote Config, and of the service for tokens.
        let words =
            document?["error"]?["message"]?.text ?? document?["error_description"]?.text
            ?? document?["error"]?.text
        let reason = "\(response.status)" + (words.map { ": \($0)" } ?? "")
        let (hint, remedy): (String, BridgeFault.Remedy) =
            switch response.status {
            case 401: ("is the clock of this machine right, and the key not taken back?", .token)
            case 403:
                ("give the account the role Firebase Remote Config Admin in the project", .stop)
            case 404: ("is --project the id of the Firebase project?", .stop)
            case 409, 412: ("read again, and apply to that", .conflict)
            case 429, 500...:
                (
                    "the service has too much to do; it is asked again",
                    .retry(afterSeconds: response.retryAfterSeconds)
                )
            default: ("the service does not take it: see its words", .stop)
            }
        return BridgeFault(operation, reason: reason, hint: hint, remedy: remedy)
    }
}
