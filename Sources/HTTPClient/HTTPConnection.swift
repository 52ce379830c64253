// A client that keeps its connection: one blocking request at a time, on the caller's thread.
internal import CCurl

/// How much of an answer is taken, and how long it may take.
package struct HTTPLimits: Sendable {
    package var connectMilliseconds = 3_000
    /// For the whole exchange.
    package var totalMilliseconds = 10_000
    package var bodyBytesMax = 4 << 20
    package var headerBytesMax = 64 << 10

    package init() {}

    package init(totalMilliseconds: Int) {
        self.totalMilliseconds = totalMilliseconds
        connectMilliseconds = min(connectMilliseconds, totalMilliseconds)
    }
}

/// Owns a libcurl handle with its connections. Belongs to one thread at a time. Redirects are not
/// followed: they come back as the answer.
@safe
package final class HTTPConnection {
    /// libcurl asks for it once a process, before any handle.
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    package let limits: HTTPLimits
    private let acceptsGzip: Bool
    private let authorityPath: String?
    /// Closed in deinit, and used by nobody else.
    private let handle: UnsafeMutableRawPointer

    /// Makes a client; with `acceptsGzip` servers may compress, and bodies come back decompressed.
    /// `authorityPath`: a file of the certificates to trust, PEM; nil: those of the system.
    package init(
        limits: HTTPLimits = HTTPLimits(), acceptsGzip: Bool = false, authorityPath: String? = nil
    ) {
        precondition(Self.isLibraryReady, "libcurl can be initialised")
        guard let handle = unsafe curl_easy_init() else {
            preconditionFailure("there is memory for a libcurl handle")
        }
        unsafe self.handle = unsafe handle
        self.limits = limits
        self.acceptsGzip = acceptsGzip
        self.authorityPath = authorityPath
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
    }

    /// Sends the request and waits for the whole answer. `isCancelled` is asked now and then, at
    /// least once a second, on this thread.
    package func send(
        _ request: HTTPRequest, isCancelled: @escaping () -> Bool = { false }
    ) throws(HTTPFault) -> HTTPResponse {
        // Forgets the options of the last request and keeps the connection.
        unsafe curl_easy_reset(handle)
        var incoming = Incoming(limits: limits, isCancelled: isCancelled)
        var complaint = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
        let body = request.body ?? []
        let headers = HeaderList(request)
        // All pointers given to libcurl here are used within the call only, and outlive it.
        let code = unsafe withUnsafeMutablePointer(to: &incoming) { incoming in
            unsafe complaint.withUnsafeMutableBufferPointer { complaint in
                unsafe body.withUnsafeBytes { body in
                    unsafe set(CURLOPT_ERRORBUFFER, complaint.baseAddress)
                    unsafe setCallbacks(context: incoming)
                    unsafe prepare(request, body: body, headers: headers)
                    return unsafe curl_easy_perform(handle)
                }
            }
        }
        guard code == CURLE_OK else {
            let text = complaint.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw fault(
                code, of: request, incoming, complaint: String(decoding: text, as: UTF8.self))
        }
        var status = 0
        unsafe brake_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        return HTTPResponse(status: status, headers: incoming.headers, body: incoming.body)
    }

    private func prepare(
        _ request: HTTPRequest, body: UnsafeRawBufferPointer, headers: borrowing HeaderList
    ) {
        set(CURLOPT_URL, text: request.url)
        set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectMilliseconds)
        set(CURLOPT_TIMEOUT_MS, limits.totalMilliseconds)
        if let authorityPath { set(CURLOPT_CAINFO, text: authorityPath) }
        if acceptsGzip { set(CURLOPT_ACCEPT_ENCODING, text: "gzip") }
        unsafe set(CURLOPT_HTTPHEADER, headers.list)
        switch request.method {
        case "GET": break
        case "HEAD": set(CURLOPT_NOBODY, 1)
        default:
            set(CURLOPT_POST, 1)
            set(CURLOPT_CUSTOMREQUEST, text: request.method)
            unsafe brake_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            // An empty array may have no address, which libcurl takes for "read from stdin".
            if let first = body.baseAddress {
                unsafe set(CURLOPT_POSTFIELDS, first)
            } else {
                set(CURLOPT_COPYPOSTFIELDS, text: "")
            }
        }
    }

    private func setCallbacks(context: UnsafeMutablePointer<Incoming>) {
        unsafe set(CURLOPT_WRITEDATA, context)
        unsafe set(CURLOPT_HEADERDATA, context)
        unsafe set(CURLOPT_XFERINFODATA, context)
        set(CURLOPT_NOPROGRESS, 0)
        // libcurl never calls with a nil context or nil bytes: both are what was set above.
        unsafe brake_curl_on_bytes(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            let incoming = unsafe context!.assumingMemoryBound(to: Incoming.self)
            return unsafe incoming.pointee.takeBody(piece) ? piece.count : 0
        }
        unsafe brake_curl_on_bytes(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            let incoming = unsafe context!.assumingMemoryBound(to: Incoming.self)
            return unsafe incoming.pointee.takeHeaderLine(line) ? line.count : 0
        }
        unsafe brake_curl_on_progress(handle) { context, _, _, _, _ in
            let incoming = unsafe context!.assumingMemoryBound(to: Incoming.self)
            return unsafe incoming.pointee.isStillWanted() ? 0 : 1
        }
    }

    private func set(_ option: CURLoption, _ value: Int) {
        unsafe brake_curl_set_long(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: UnsafeRawPointer?) {
        unsafe brake_curl_set_pointer(handle, option, value)
    }

    /// libcurl copies the text.
    private func set(_ option: CURLoption, text: String) {
        unsafe text.withCString { unsafe set(option, $0) }
    }

    private func fault(
        _ code: CURLcode, of request: HTTPRequest, _ incoming: Incoming, complaint: String
    ) -> HTTPFault {
        let kind: HTTPFault.Kind =
            switch code {
            case _ where incoming.isTooLarge: .tooLarge
            case _ where incoming.isStopped: .stopped
            case CURLE_URL_MALFORMAT: .badAddress
            // The same code stands for an answer that is not HTTP.
            case CURLE_UNSUPPORTED_PROTOCOL where !request.url.lowercased().hasPrefix("http"):
                .badAddress
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
            case CURLE_COULDNT_CONNECT: .unreachable
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR: .cut
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
                .insecure
            default: .other
            }
        let words = unsafe String(cString: curl_easy_strerror(code))
        let reason =
            switch kind {
            case .tooLarge: "the answer is larger than \(limits.bodyBytesMax) bytes"
            case .stopped: "stopped before the answer had come"
            default: complaint.isEmpty ? words : complaint
            }
        return HTTPFault(
            kind: kind, operation: request.method, place: request.url, reason: reason)
    }
}

/// libcurl's list of header lines, freed with its owner.
@safe
private struct HeaderList: ~Copyable {
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    init(_ request: HTTPRequest) {
        unsafe list = nil
        for header in request.headers { append("\(header.name): \(header.value)") }
        // Without it libcurl waits up to a second for a "100 Continue" before a large body.
        if request.body != nil { append("Expect:") }
    }

    deinit {
        unsafe curl_slist_free_all(list)
    }

    private mutating func append(_ line: String) {
        // libcurl copies the line.
        guard let longer = unsafe line.withCString({ unsafe curl_slist_append(list, $0) }) else {
            preconditionFailure("there is memory for a header line")
        }
        unsafe list = longer
    }
}
