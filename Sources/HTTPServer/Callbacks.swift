// Where libmicrohttpd calls us: the only code on its threads that knows its types.
import CMicroHTTPD
import Runtime

/// The library's callbacks. Contexts are the listener, unretained while the library runs, the
/// connection, retained from open to close, and the exchange, retained from the request line to
/// completion.
enum Callbacks {
    static func install(in settings: inout adbrake_mhd_settings) {
        unsafe settings.on_accept = { context, address, size in
            guard let context = unsafe context, let address = unsafe address else { return .NO }
            let listener = unsafe Callbacks.listener(context)
            if listener.isStopping { return .NO }
            let refusal = unsafe listener.connections.refusal(
                of: ListenSocket.text(of: address, size))
            guard let refusal else { return .YES }
            listener.meters.cut(refusal)
            return .NO
        }
        unsafe settings.on_connection = { context, connection, socketContext, code in
            guard let context = unsafe context, let connection = unsafe connection,
                let socketContext = unsafe socketContext
            else { return }
            unsafe Callbacks.connection(
                Callbacks.listener(context), connection, &socketContext.pointee, code)
        }
        unsafe settings.on_target = { context, target, connection in
            guard let context = unsafe context, let target = unsafe target,
                let connection = unsafe connection
            else { return nil }
            return unsafe Callbacks.target(Callbacks.listener(context), target, connection)
        }
        unsafe settings.on_request = { context, connection, _, method, _, piece, size, exchange in
            guard let context = unsafe context, let connection = unsafe connection,
                let method = unsafe method, let size = unsafe size,
                let exchange = unsafe exchange?.pointee
            else { return .NO }
            // Retained by `target`, released by `completed`.
            let known = unsafe Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue()
            let bytes = unsafe UnsafeRawBufferPointer(start: piece, count: size.pointee)
            let result = unsafe Callbacks.request(
                Callbacks.listener(context), known, connection, String(cString: method), bytes)
            unsafe size.pointee = 0
            return result
        }
        unsafe settings.on_completed = { context, _, exchange, _ in
            guard let context = unsafe context, let exchange = unsafe exchange,
                let retained = unsafe exchange.pointee
            else { return }
            unsafe exchange.pointee = nil
            let known = unsafe Unmanaged<Exchange>.fromOpaque(retained).takeRetainedValue()
            unsafe Callbacks.completed(Callbacks.listener(context), known)
        }
    }

    private static func listener(_ context: UnsafeMutableRawPointer) -> HTTPListener {
        // The listener outlives the library's threads: `stop` ends them.
        unsafe Unmanaged<HTTPListener>.fromOpaque(context).takeUnretainedValue()
    }

    private static func connection(
        _ listener: HTTPListener, _ handle: OpaquePointer,
        _ context: inout UnsafeMutableRawPointer?, _ code: MHD_ConnectionNotificationCode
    ) {
        if code == .CONNECTION_NOTIFY_STARTED {
            let connection = Connection(
                descriptor: unsafe adbrake_mhd_socket(handle), deadline: listener.headersBy())
            listener.connections.add(connection)
            listener.meters.open(listener.connections.count)
            unsafe context = Unmanaged.passRetained(connection).toOpaque()
        } else if let retained = unsafe context {
            unsafe context = nil
            let connection = unsafe Unmanaged<Connection>.fromOpaque(retained).takeRetainedValue()
            listener.connections.remove(connection)
            listener.meters.open(listener.connections.count)
            if !connection.hasAsked, !connection.isCut { listener.meters.cut(.noRequest) }
        }
    }

    private static func target(
        _ listener: HTTPListener, _ target: UnsafePointer<CChar>, _ handle: OpaquePointer
    ) -> UnsafeMutableRawPointer? {
        guard let context = unsafe adbrake_mhd_socket_context(handle) else { return nil }
        // Retained until the connection is closed.
        let connection = unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        // Bytes that are not UTF-8 become the replacement character; the target then fits no route.
        let exchange = Exchange(
            connection: connection, targetText: unsafe String(cString: target), listener: listener)
        connection.mustBeDone(by: listener.bodyBy())
        connection.noteRequest()
        listener.running.withLock { $0 += 1 }
        return unsafe Unmanaged.passRetained(exchange).toOpaque()
    }

    private static func request(
        _ listener: HTTPListener, _ exchange: Exchange, _ handle: OpaquePointer,
        _ method: String, _ piece: UnsafeRawBufferPointer
    ) -> MHD_Result {
        if case .undecided = exchange.plan {
            if unsafe reuses(listener, exchange, handle, method) { return .YES }
            unsafe copyHeaders(of: handle, to: exchange)
            exchange.decide(method, listener)
            guard case .refuse(let response) = exchange.plan, exchange.hasBody else {
                return .YES
            }
            // No body has come yet: without the go-ahead the client waits for it would not be sent.
            if exchange.expectsContinue {
                exchange.isAnswered = true
                listener.meters.answered(
                    route: exchange.routeLabel, exchange.marked(response), nanoseconds: 0)
                return unsafe send(exchange.marked(response), listener, exchange, handle)
            }
            return exchange.refuseNow(response) ? .YES : .NO
        }
        if case .reuse(let answer, let isHeld) = exchange.plan {
            exchange.connection.mustBeDone(by: listener.answerBy())
            exchange.isAnswered = true
            return unsafe answer.send(to: handle, isHeld: isHeld)
        }
        if unsafe !piece.isEmpty {
            return unsafe exchange.receive(piece) ? .YES : .NO
        }
        if case .answered = exchange.plan { return .NO }
        // Complete: until the answer is ready time is ours, not the client's.
        exchange.connection.mustBeDone(by: Connection.never)
        let start = SystemClock.monotonicNanoseconds()
        let version = listener.cache?.currentVersion
        let response = exchange.answer()
        exchange.isAnswered = true
        if let version { listener.keep(response, of: exchange, version: version) }
        listener.meters.answered(
            route: exchange.routeLabel, response,
            nanoseconds: SystemClock.monotonicNanoseconds() - start)
        if case .bytes = response.body {
            exchange.connection.mustBeDone(by: listener.answerBy())
        }
        return unsafe send(response, listener, exchange, handle)
    }

    /// Whether the request asks for what was answered right before, and nothing in it calls for a
    /// closer look: a body, another site's page, or a validator of another answer.
    private static func reuses(
        _ listener: HTTPListener, _ exchange: Exchange, _ handle: OpaquePointer, _ method: String
    ) -> Bool {
        guard method == "GET" || method == "HEAD", !listener.isStopping,
            let answer = listener.cache?.answer(to: exchange.targetText),
            unsafe field("Content-Length", of: handle) == nil,
            unsafe field("Transfer-Encoding", of: handle) == nil,
            unsafe field("Origin", of: handle) == nil
        else { return false }
        if let held = unsafe field("If-None-Match", of: handle) {
            guard unsafe answer.isHeld(by: held) else { return false }
            exchange.plan = .reuse(answer, isHeld: true)
        } else {
            exchange.plan = .reuse(answer, isHeld: false)
        }
        return true
    }

    /// The first field of a name; the library's own text, until the request is over.
    private static func field(
        _ name: StaticString, of handle: OpaquePointer
    ) -> UnsafePointer<CChar>? {
        name.withUTF8Buffer { name in
            // A static text ends with 0.
            unsafe MHD_lookup_connection_value(
                handle, .HEADER_KIND,
                UnsafeRawPointer(name.baseAddress)?.assumingMemoryBound(to: CChar.self))
        }
    }

    private static func completed(_ listener: HTTPListener, _ exchange: Exchange) {
        exchange.releaseBody()
        if !exchange.isAnswered, !exchange.connection.isCut {
            var isUndecided = false
            if case .undecided = exchange.plan { isUndecided = true }
            listener.meters.cut(isUndecided ? .headers : .aborted)
        }
        if let stream = exchange.stream {
            _ = listener.streams.withLock { $0.removeValue(forKey: ObjectIdentifier(stream)) }
            stream.end()
        } else {
            listener.running.withLock { $0 -= 1 }
        }
        exchange.connection.mustBeDone(by: listener.headersBy())
    }

    private static func copyHeaders(of handle: OpaquePointer, to exchange: Exchange) {
        // Unretained: the exchange lives through this call.
        let context = unsafe Unmanaged.passUnretained(exchange).toOpaque()
        unsafe MHD_get_connection_values_n(
            handle, .HEADER_KIND,
            { context, _, name, nameSize, value, valueSize in
                guard let context = unsafe context else { return .NO }
                let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context)
                    .takeUnretainedValue()
                unsafe exchange.headers.add(
                    Callbacks.text(name, nameSize), Callbacks.text(value, valueSize))
                return .YES
            }, context)
    }

    private static func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String {
        // The library gives the length of each text it points to.
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// Hands the answer to the library.
    private static func send(
        _ response: Response, _ listener: HTTPListener, _ exchange: Exchange,
        _ handle: OpaquePointer
    ) -> MHD_Result {
        guard let made = unsafe make(response, listener, exchange, handle) else { return .NO }
        // The library holds its own reference from here on.
        defer { unsafe MHD_destroy_response(made) }
        for (name, value) in response.headers.fields {
            guard unsafe MHD_add_response_header(made, name, value) == .YES else {
                listener.log.error("a header field was refused", ["field": .text(name)])
                return .NO
            }
        }
        if listener.isStopping {
            unsafe MHD_add_response_header(made, "Connection", "close")
        }
        return unsafe MHD_queue_response(handle, UInt32(response.status), made)
    }

    private static func make(
        _ response: Response, _ listener: HTTPListener, _ exchange: Exchange,
        _ handle: OpaquePointer
    ) -> OpaquePointer? {
        switch response.body {
        case .bytes(let bytes):
            // Copied by the library; it does not write through the pointer.
            return unsafe bytes.withUnsafeBytes { buffer in
                unsafe MHD_create_response_from_buffer(
                    buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                    .RESPMEM_MUST_COPY)
            }
        case .stream(let stream):
            exchange.stream = stream
            listener.adopt(stream)
            let source = unsafe StreamSource(
                stream: stream, connection: handle,
                hasThread: listener.settings.threads == .perConnection)
            return unsafe MHD_create_response_from_callback(
                UInt64.max, StreamSource.blockBytes,
                { context, _, buffer, size in
                    guard let context = unsafe context, let buffer = unsafe buffer else {
                        return adbrake_mhd_end_with_error
                    }
                    // Retained below, until the library frees the response.
                    let source = unsafe Unmanaged<StreamSource>.fromOpaque(context)
                        .takeUnretainedValue()
                    let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: size)
                    return unsafe source.read(into: target)
                }, Unmanaged.passRetained(source).toOpaque(),
                { context in
                    guard let context = unsafe context else { return }
                    unsafe Unmanaged<StreamSource>.fromOpaque(context).release()
                })
        }
    }
}

/// A stream and the connection it feeds. Only the connection's thread uses it.
@safe
private final class StreamSource {
    /// What the library reads at a time where it may choose.
    static let blockBytes = 4_096

    /// How long a thread of its own waits for a push before the library looks at the socket.
    private static let waitMilliseconds = 1_000

    private let stream: ResponseStream
    /// Valid until the response is freed, which the library does first.
    private let connection: OpaquePointer
    /// Then the thread may wait; to resume it from suspension is not dependable in 0.9.75.
    private let hasThread: Bool

    init(stream: ResponseStream, connection: OpaquePointer, hasThread: Bool) {
        self.stream = stream
        unsafe self.connection = connection
        self.hasThread = hasThread
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        hasThread
            ? unsafe stream.read(into: buffer, waitMilliseconds: Self.waitMilliseconds)
            : unsafe stream.read(into: buffer, for: connection)
    }
}

extension HTTPListener {
    /// Keeps an answer that may be given again, made since the version was looked at.
    func keep(_ response: Response, of exchange: Exchange, version: UInt64) {
        // A larger one comes compressed or not, as each client likes.
        guard let cache, let answer = response.reuse,
            answer.whole.bytes.count < Exchange.compressBytesMin,
            let prepared = PreparedAnswer(
                answer, version: version, now: SystemClock.monotonicNanoseconds(),
                for: exchange, meters: meters)
        else { return }
        cache.keep(prepared, for: exchange.targetText)
    }

    var isTLS: Bool { settings.tlsKey != nil }

    /// When the headers of the next request have to be complete: the library closes idle
    /// connections, so one that is older sends a byte now and then.
    func headersBy() -> Int64 {
        SystemClock.monotonicMilliseconds()
            + Int64(settings.idleSeconds + settings.receiveSeconds) * 1_000
    }

    /// When a request whose line has come has to be complete.
    func bodyBy() -> Int64 {
        SystemClock.monotonicMilliseconds() + Int64(settings.receiveSeconds) * 1_000
    }

    /// When the client has to have read an answer that it is given now.
    func answerBy() -> Int64 {
        SystemClock.monotonicMilliseconds() + Int64(settings.answerSeconds) * 1_000
    }

    /// Takes a stream among those to be ended by `stop`; it is no running request any more.
    func adopt(_ stream: ResponseStream) {
        streams.withLock { $0[ObjectIdentifier(stream)] = stream }
        running.withLock { $0 -= 1 }
        if isStopping { stream.finish() }
    }
}
